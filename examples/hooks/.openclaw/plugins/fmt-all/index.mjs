// `cargo fmt` formats one package; this makes it the whole workspace.
export default {
  register(api) {
    api.on(
      "before_tool_call",
      (event) => {
        if (event.params.command === "cargo fmt") {
          return { params: { command: "cargo fmt --all" } };
        }
      },
      { priority: 10, matcher: ["shell"] },
    );
  },
};

//! Prints the OpenAPI document of the API.

fn main() {
    print!("{}", lineside_daemon::api::described::openapi());
}

//! Interpreters of other languages.

use super::source::Source;

#[rustfmt::skip]
pub(super) const ROWS: &[Source] = &[
    ("python|python2|python3|python3.8|python3.9|python3.10|python3.11|python3.12|python3.13|python3.14|py|pypy|pypy3|ipython", "-c=! -m=! -u -B -E -I -O -OO -s -S -v -V|--version -W= -X= -Q= --check-hash-based-pycs= -x -q -i -b -d -P", "stop scripts code:-c:python !-c|-m?script:python special:module -i?input:python"),
    ("node|nodejs|tsx|ts-node", "-e|--eval= -p|--print -r|--require= -c|--check -i|--interactive --import= --loader|--experimental-loader= --input-type= --title= --icu-data-dir= --disable-warning= --unhandled-rejections= --stack-trace-limit= --env-file|--env-file-if-exists= --inspect=? --max-old-space-size= -v|--version --test --watch -C|--conditions= --experimental-vm-modules", "stop scripts -i?input:node code:-e:node code:-p:node -p?!-e?special:eval-node special:preload -e|-p?r:--env-file !-e|-p?script:node"),
    ("deno", "", "sub scripts"),
    ("deno run|deno x", "-A|--allow-all -c|--config= --env-file=? -r|--reload=? -q -L= --import-map= --node-modules-dir=? --lock=?", "stop scripts script:node"),
    ("deno eval", "", "special:eval-node"),
    ("ruby", "-e= -n -p -i=? -0=# -r= -I= -w -W=# -c -v -a -l -F=? -K=? -s -S -x=? -C= -E= -U --encoding= --external-encoding= --internal-encoding=", "stop code:-e:ruby special:preload !-e?script:ruby"),
    ("php", "-r= -f= -B= -R= -E= -d= -c= -n -i -l -m -v -a -S= -t= -z=", "stop code:-r:php code:-B:php code:-R:php code:-E:php !-r|-S?script:php"),
    ("lua|luajit|R|Rscript|julia|elixir|erl|groovy|scala|tclsh|octave", "-e|--eval|-eval|-E= -i -v -l= -q -s --slave --vanilla --no-save", "stop code:-e:other !-e?script:other"),
    ("zx", "-e|--eval= --quiet --shell= --prefix= --postfix= --cwd= --env= --install --repl --ext= -v|--version -h|--help", "stop code:-e:node !-e?script:node"),
    ("osascript", "-e= -l= -s=", "code:-e:osascript"),
];

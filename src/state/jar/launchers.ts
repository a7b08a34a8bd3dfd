/** Tables of the programs that start a server but are not the server, and of their options. */
/** The options of a program, as far as they are needed to find its first operand: the first argument that is none. */
export interface OptionTable {
  /** Options without a value, separated by white space. */
  readonly alone: string
  /** A pattern for further options without a value. */
  readonly aloneLike?: RegExp
  /** Options with a value, as the next argument or after `=`. */
  readonly valued: string
  /** Options with a value that end the options: what follows are arguments of what the value names (`python -m`). */
  readonly last?: string
}

/** A program that runs a file: its first operand, or the value of an option. */
export interface Interpreter {
  readonly options: OptionTable
  /** The subcommand before the options (`deno run`). */
  readonly word?: RegExp
  /** The option that names a module (`python -m`). */
  readonly module?: string
  /** The option that names the file (`java -jar`). */
  readonly file?: string
}

/** A program that fetches a package and runs a program of it. */
export interface PackageRunner {
  readonly registry: 'npm' | 'pypi'
  readonly options: OptionTable
  /** The options that name the package, if it is not named like the program. */
  readonly from: readonly string[]
  readonly word?: RegExp
}

const node: Interpreter = {
  options: {
    alone: `--no-warnings --no-deprecation --enable-source-maps --trace-warnings --trace-deprecation --trace-uncaught
      --throw-deprecation --pending-deprecation --inspect --inspect-brk --preserve-symlinks --preserve-symlinks-main
      --use-system-ca --use-openssl-ca --expose-gc --permission --watch --experimental-strip-types
      --experimental-transform-types --experimental-vm-modules --experimental-sqlite --experimental-wasm-modules`,
    // An option with `=` contains its value, so it cannot take the next argument, even if we do not know the option.
    aloneLike: /^--(?!eval|print|run|test|check|build)[a-z][a-z0-9-]*=/,
    valued: `-r --require --import --loader --experimental-loader -C --conditions --env-file --env-file-if-exists
      --title --disable-warning --max-http-header-size --stack-trace-limit --unhandled-rejections`,
  },
}
const bun: Interpreter = { options: { alone: '--bun --silent --smol --no-install', valued: '' } }
const deno: Interpreter = {
  options: {
    alone: '-A -q -R -W -N -E -S --quiet --no-check --check --no-prompt --cached-only',
    aloneLike: /^--((allow|deny)-[a-z]+(=.*)?|unstable-[a-z-]+)$/,
    valued: '-c --config --import-map --lock',
  },
  word: /^run$/,
}
const tsx: Interpreter = { options: { alone: '--no-cache', valued: '--tsconfig' } }
const tsNode: Interpreter = { options: { alone: '-T --transpile-only --esm --swc', valued: '-P --project' } }
const python: Interpreter = {
  options: { alone: '-u -B -O -OO -q -v -b -bb -s -d', aloneLike: /^-[WX]./, valued: '-W -X', last: '-m' },
  module: '-m',
}
const java: Interpreter = {
  options: { alone: '-ea -server', aloneLike: /^-[DX]/, valued: '', last: '-jar' },
  file: '-jar',
}
const mcp: Interpreter = { options: { alone: '', valued: '-t --transport' }, word: /^run$/ }
const plain: Interpreter = { options: { alone: '', valued: '' } }

const npx: PackageRunner = {
  registry: 'npm',
  options: {
    alone: '-y --yes -q --quiet --silent --no --no-install --offline --prefer-offline --prefer-online --bun',
    valued: '-p --package --loglevel',
  },
  from: ['-p', '--package'],
}
const uvx: PackageRunner = {
  registry: 'pypi',
  options: {
    alone: `-q -v -n -U --quiet --verbose --no-cache --upgrade --refresh --isolated --offline --no-config --native-tls
      --no-env-file --managed-python --no-managed-python`,
    valued: '--from -p --python -w --with --prerelease',
  },
  from: ['--from'],
}
const pipx: PackageRunner = {
  registry: 'pypi',
  options: { alone: '-q --quiet --no-cache', valued: '--spec --python' },
  from: ['--spec'],
  word: /^run$/,
}

/** The options of `uv` itself, before its command. */
export const UV: OptionTable = {
  alone: '-q -v -n --quiet --verbose --no-cache --offline --native-tls',
  valued: '--directory',
}

/** The options of `uv run`, which runs a file, a module or a program of a project. */
export const UV_RUN: OptionTable = {
  alone: `-q -v -n -s --quiet --verbose --no-cache --script --no-sync --frozen --locked --isolated --no-project --active
    --no-dev --all-extras --all-groups --offline --native-tls --exact --refresh`,
  valued: '--directory -p --python -w --with --with-requirements --extra --group --env-file',
  last: '-m --module',
}

export const INTERPRETERS: ReadonlyMap<string, Interpreter> = new Map([
  ...named(node, 'node nodejs'),
  ...named(bun, 'bun'),
  ...named(deno, 'deno'),
  ...named(tsx, 'tsx'),
  ...named(tsNode, 'ts-node ts-node-esm'),
  ...named(python, 'python pythonw pypy py'),
  ...named(java, 'java javaw'),
  ...named(mcp, 'mcp fastmcp'),
  ...named(
    plain,
    'sh bash dash zsh ksh fish pwsh powershell ruby perl php lua luajit rscript julia dotnet mono groovy',
  ),
  ...named(plain, 'escript elixir guile tclsh'),
])

export const RUNNERS: ReadonlyMap<string, PackageRunner> = new Map([
  ...named(npx, 'npx bunx pnpx'),
  ...named({ ...npx, word: /^(exec|x)$/ }, 'npm'),
  ...named({ ...npx, word: /^dlx$/ }, 'pnpm yarn'),
  ...named(uvx, 'uvx'),
  ...named(pipx, 'pipx'),
])

/** Programs that start another program or connect to another server, and whose arguments we do not analyse. */
export const WRAPPERS: ReadonlySet<string> = new Set(
  `docker podman nerdctl kubectl ssh sudo doas su runuser env nice nohup timeout setsid stdbuf xargs unshare chroot
  bwrap firejail flatpak snap wsl systemd-run busybox toybox coreutils direnv mise rtx asdf volta volta-shim corepack
  fnm nvm nix nix-shell devbox conda mamba micromamba pixi poetry pdm hatch rye pipenv tox go cargo make just gradle mvn
  nx turbo dotenv dotenvx cross-env env-cmd op doppler infisical aws-vault chamber nodemon pm2 forever concurrently cmd
  osascript socat nc ncat websocat curl mcp-remote mcp-proxy supergateway mcp-inspector thv
  @modelcontextprotocol/inspector @smithery/cli`.split(/\s+/),
)

function named<Value>(value: Value, names: string): [string, Value][] {
  return names.split(' ').map((name) => [name, value])
}

/** The names of the package, image or program that a configuration starts, or of the host that it is reached at. */
/** What the configuration says about a server. */
export interface Metadata {
  readonly type?: string
  /** The image of its container. */
  readonly container?: string
  readonly command?: string
  readonly args?: readonly string[]
  readonly url?: string
}

/** Programs that start another one, which is their first argument that is no option. */
const RUNNERS: ReadonlySet<string> = new Set(
  'npx npm pnpm pnpx yarn bunx bun deno node tsx uvx uv pipx python python3 docker podman nerdctl'.split(' '),
)
/** Words of a runner that come before the name. */
const SUBCOMMANDS: ReadonlySet<string> = new Set(['run', 'exec', 'dlx', 'x', 'tool', 'container'])
/** Options of runners whose value is the next argument. */
const WITH_VALUE: ReadonlySet<string> = new Set(
  '-e --env --env-file -v --volume --mount -p --publish --name --network --net -w --workdir -u --user --entrypoint --package --from --with --python --directory --project --conditions -C --import --loader --require -r --platform --pull --add-host -h --hostname'.split(
    ' ',
  ),
)
/** Options of runners whose value is the package. */
const NAMING: ReadonlySet<string> = new Set(['--package', '--from', '-m', '-p'])

/** In lower case and without versions. Neither other arguments nor the path of an address are names. */
export function programNames({ container = '', command = '', args = [], url = '' }: Metadata): readonly string[] {
  const program = nameIn(command)
  const started = RUNNERS.has(program) ? startedBy(args) : []
  const host = URL.canParse(url) ? new URL(url).hostname : ''
  return [nameIn(container), program, ...started.map(nameIn), host.toLowerCase()].filter((name) => name !== '')
}

function startedBy(args: readonly string[]): readonly string[] {
  const named: string[] = []
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? ''
    const [option = '', value] = word.split('=', 2)
    if (NAMING.has(option)) named.push(value ?? args[at + 1] ?? '')
    if (WITH_VALUE.has(word)) at++
    else if (!word.startsWith('-') && !SUBCOMMANDS.has(word)) return [...named, word]
  }
  return named
}

/** `/x/node_modules/@playwright/mcp/cli.js`, `@playwright/mcp@latest` and `mcr.microsoft.com/playwright/mcp:v1` */
function nameIn(word: string): string {
  const path = word.toLowerCase().replaceAll('\\', '/')
  const inPackage = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]
  if (inPackage !== undefined) return inPackage
  const isFile = /^(\.{0,2}|[a-z]:)\//.test(path) || /\.(m?js|cjs|ts|py|exe|cmd)$/.test(path)
  if (isFile) return path.replace(/.*\//, '').replace(/\.[a-z]+$/, '')
  return path.replace(/(?<=[^@:/])([@:]|==)[^/]*$/, '')
}

/** Method 3, metadata heuristics: a guess from the configuration alone, without any request. */
import type { Address } from '../../client/index.ts'
import { KNOWN_SERVERS, type KnownServer } from '../knownServers.ts'
import { type MethodResult, methodResult, type State } from './result.ts'

interface Guess {
  readonly state: State
  readonly confidence: number
  readonly because: string
}

/** Searches `known`, then the built-in list of known servers; the first match counts. Without a match, it guesses. */
export function guessFromMetadata(metadata: Metadata, known: readonly KnownServer[] = []): MethodResult {
  const { state, confidence, because } = knownGuess(metadata, [...known, ...KNOWN_SERVERS]) ?? guess(metadata)
  return methodResult('metadata', state, because, { confidence })
}

export function metadataOf(address: Address): Metadata {
  const { container } = address
  const image = container === undefined ? {} : { container: container.image }
  if ('url' in address) return { type: 'http', url: address.url, ...image }
  const { command, args } = address
  // An entry with a container only: Docker runs it, and its transport is unknown.
  if (command === 'docker' && container !== undefined)
    return { ...(container.type && { type: container.type }), ...image }
  return { type: 'stdio', command, args, ...image }
}

function knownGuess(metadata: Metadata, known: readonly KnownServer[]): Guess | undefined {
  const names = programNames(metadata)
  const found = known.find(({ match }) => names.some((name) => isNamed(name, match.toLowerCase())))
  if (found === undefined) return undefined
  const { match, state, confidence = 0.95, because = '' } = found
  return { state, confidence, because: `It is known as ${match}. ${because}`.trim() }
}

/** `server-memory` is the name of the package `@modelcontextprotocol/server-memory`; a part of a name is not. */
function isNamed(name: string, match: string): boolean {
  return name === match || name.endsWith(`/${match}`) || name === `@${match}`
}

function guess({ type, container = '' }: Metadata): Guess {
  const image = container.toLowerCase()
  if (type === 'http')
    return { state: 'STATELESS', confidence: 0.8, because: 'Servers over HTTP usually keep no state.' }
  if (type === 'stdio') return { state: 'STATEFUL', confidence: 0.7, because: 'Servers over stdio often keep state.' }
  if (image.includes('typescript') || image.includes('node')) {
    return { state: 'STATELESS', confidence: 0.6, because: 'Servers in TypeScript tend to keep no state.' }
  }
  if (image.includes('python') && image.includes('local')) {
    return { state: 'STATEFUL', confidence: 0.6, because: 'Local servers in Python often keep state.' }
  }
  return { state: 'UNKNOWN', confidence: 0, because: 'The configuration gives no hint.' }
}

/** The facts about a server in its configuration. */
export interface Metadata {
  readonly type?: string
  /** The image of its container. */
  readonly container?: string
  readonly command?: string
  readonly args?: readonly string[]
  readonly url?: string
}

/** Runners: programs whose first operand is the program that they start. */
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

/**
 * The names of the package, image or program that a configuration starts, or of the host that it is reached at: in lower
 * case and without versions. Neither other arguments nor the path of an address are names.
 */
function programNames({ container = '', command = '', args = [], url = '' }: Metadata): readonly string[] {
  const program = nameIn(command)
  const started = RUNNERS.has(program) ? startedBy(args) : []
  const host = URL.canParse(url) ? new URL(url).hostname : ''
  return [nameIn(container), program, ...started.map(nameIn), host.toLowerCase()].filter((name) => name !== '')
}

/** What a runner starts, by its arguments: a package where an option names it, and the first operand. */
export function startedBy(args: readonly string[]): readonly string[] {
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

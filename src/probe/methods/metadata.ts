/** Method 3, metadata heuristics: a guess from the configuration alone, without any request. */
import type { Address } from '../../client/index.ts'
import { KNOWN_SERVERS, type KnownServer } from '../knownServers.ts'
import { type Metadata, programNames } from './programNames.ts'
import { type MethodResult, methodResult, type State } from './result.ts'

interface Guess {
  readonly state: State
  readonly confidence: number
  readonly because: string
}

/** Known servers come first, `known` before the built-in list; the first match counts. */
export function guessFromMetadata(metadata: Metadata, known: readonly KnownServer[] = []): MethodResult {
  const { state, confidence, because } = knownGuess(metadata, [...known, ...KNOWN_SERVERS]) ?? guess(metadata)
  return methodResult('metadata', state, because, { confidence })
}

export function metadataOf(address: Address): Metadata {
  const { container } = address
  const image = container === undefined ? {} : { container: container.image }
  if ('url' in address) return { type: 'http', url: address.url, ...image }
  const { command, args } = address
  // Docker runs a container that an entry names alone, and says nothing of its transport.
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

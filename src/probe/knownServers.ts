/** Servers of which it is known whether they keep state between calls. Callers can put their own list before it. */
import { isObject } from '../protocol/index.ts'
import { ProbeError } from './errors.ts'
import { type State, STATES } from './methods/result.ts'

/** A server whose state is known by its name. */
export interface KnownServer {
  /** Its image, package or program, without a version, or the host of its address; upper and lower case are the same. */
  readonly match: string
  readonly state: State
  /** From 0 to 1. @default 0.95 */
  readonly confidence?: number
  /** The reason, as a sentence. */
  readonly because?: string
}

const BROWSER = 'It keeps a browser in its process, and the page that the next call works on.'
const THOUGHTS = 'It keeps the thoughts so far in its process, and counts them in its answers.'
const TOGGLES = 'It keeps in its process what was toggled, and the resources that its tools made.'

/** The first match counts. `npm run probe:corpus` compares those on npm with their packages. */
export const KNOWN_SERVERS: readonly KnownServer[] = [
  { match: 'github-mcp-server', state: 'STATELESS', because: 'Each request of GitHub’s server stands alone.' },
  { match: 'serena-mcp-server', state: 'STATEFUL', because: 'Serena keeps a project and its language servers.' },
  // The package @playwright/mcp, and its image mcr.microsoft.com/playwright/mcp.
  { match: 'playwright/mcp', state: 'STATEFUL', because: BROWSER },
  { match: 'chrome-devtools-mcp', state: 'STATEFUL', because: BROWSER },
  // The reference servers: packages of @modelcontextprotocol, and images of mcp.
  { match: 'server-puppeteer', state: 'STATEFUL', because: BROWSER },
  { match: 'mcp/puppeteer', state: 'STATEFUL', because: BROWSER },
  { match: 'server-sequential-thinking', state: 'STATEFUL', because: THOUGHTS },
  { match: 'mcp/sequentialthinking', state: 'STATEFUL', because: THOUGHTS },
  { match: 'server-everything', state: 'STATEFUL', because: TOGGLES },
  { match: 'mcp/everything', state: 'STATEFUL', because: TOGGLES },
  {
    match: 'mongodb-mcp-server',
    state: 'STATEFUL',
    because: 'It keeps opened connections in its process, under ids that no other process knows.',
  },
]

/** Validates a list from outside; throws, naming the shape that each item must have. */
export function readKnownServers(list: unknown): readonly KnownServer[] {
  if (Array.isArray(list) && list.every(isKnownServer)) return list
  const shape = '{ "match": a text, "state": "STATELESS", "STATEFUL" or "UNKNOWN" }'
  const more = 'perhaps with a "confidence" from 0 to 1 and a text "because"'
  throw new ProbeError('PROBE_OPTION_INVALID', `The known servers must be a list of ${shape}, ${more}.`)
}

function isKnownServer(value: unknown): value is KnownServer {
  if (!isObject(value)) return false
  const { match, state, confidence = 1, because = '' } = value
  const isShare = typeof confidence === 'number' && confidence >= 0 && confidence <= 1
  const isState = STATES.some((one) => one === state)
  return typeof match === 'string' && match !== '' && isState && isShare && typeof because === 'string'
}

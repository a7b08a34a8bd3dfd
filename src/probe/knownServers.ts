/** Servers of which it is known whether they keep something between calls. Data: add to it, or put your own before it. */
import type { State } from './state.ts'

export interface KnownServer {
  /** A part of its image, package, command or address, in any case. */
  readonly match: string
  readonly state: State
  /** From 0 to 1. Above 0.9 nothing else is asked. @default 0.95 */
  readonly confidence?: number
  /** How it is known, as a sentence. */
  readonly because?: string
}

export const KNOWN_SERVERS: readonly KnownServer[] = [
  { match: 'github-mcp-server', state: 'STATELESS', because: 'Each request of GitHub’s server stands alone.' },
  { match: 'serena-mcp-server', state: 'STATEFUL', because: 'Serena keeps a project and its language servers.' },
  { match: '@playwright/mcp', state: 'STATEFUL', because: 'It keeps a browser with its pages in its process.' },
  { match: 'chrome-devtools-mcp', state: 'STATEFUL', because: 'It keeps a browser with its pages in its process.' },
  { match: 'server-puppeteer', state: 'STATEFUL', because: 'It keeps a browser with its pages in its process.' },
  {
    match: 'server-sequential-thinking',
    state: 'STATEFUL',
    because: 'It keeps the thoughts so far in its process.',
  },
]

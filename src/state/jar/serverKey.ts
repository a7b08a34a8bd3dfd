/**
 * For whom state is kept (SEP-1655, state scope). A refusal is a sentence for the host: no state is kept then, and
 * calls go on without.
 */
import { domainServer } from './domain.ts'
import { thisMachine } from './machine.ts'
import { programServer } from './program.ts'
import type { JarProgram, JarServer } from './server.ts'

export interface JarScopeOptions {
  /**
   * Also keeps state for localhost, IP addresses and names that nobody registered. For development only: who is behind
   * such a name today need not be who was behind it yesterday. @default false
   */
  allowLocal?: boolean
}

/** The name under which state is kept for a server. A URL is not fetched, and a program not started. */
export function jarServerOf(target: { readonly url: string } | JarProgram, options: JarScopeOptions = {}): JarServer {
  const { allowLocal = false } = options
  return 'url' in target ? domainServer(target.url, allowLocal) : programServer(target, thisMachine)
}

/** What follows from whether a server keeps something between calls: who may share a link to it. */
import type { Verdict } from '../../probe/index.ts'
import { isKnownStateless } from '../../probe/internal.ts'
import type { BackendConfig } from '../config/index.ts'
import type { Link } from '../links/link.ts'

/** What is known of a server. */
export interface JudgedServer {
  readonly config: {
    readonly address: BackendConfig['address']
    readonly settings: Pick<BackendConfig['settings'], 'state'>
  }
  readonly verdict: Pick<Verdict, 'state' | 'process'> | undefined
  /** The gateway's own link; undefined until the server has been reached. */
  readonly link: Pick<Link, 'hasSession'> | undefined
}

/** Whether the server is known to keep something between calls: by its entry, else by the probe. */
export function isStateful(server: JudgedServer): boolean {
  const { state } = server.config.settings
  return state === 'auto' ? server.verdict?.state === 'STATEFUL' : state === 'stateful'
}

/**
 * Whether callers may share a link. Two callers in one session or process see what either of them leaves there, so a
 * guess is not enough: over HTTP the server must have given out no session, and a process must be known to keep nothing.
 */
export function mayShareLinks(server: JudgedServer): boolean {
  const { address, settings } = server.config
  if (settings.state !== 'auto') return settings.state === 'stateless'
  if (isStateful(server)) return false
  if ('url' in address) return server.link?.hasSession === false
  const { verdict } = server
  return verdict !== undefined && isKnownStateless(verdict.process)
}

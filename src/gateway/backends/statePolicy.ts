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
export function isStateful({ config, verdict }: JudgedServer): boolean {
  const { state } = config.settings
  return state === 'auto' ? verdict?.state === 'STATEFUL' : state === 'stateful'
}

/**
 * Whether callers may share a link. Two callers in one session or process see what either of them leaves there, so a
 * guess is not enough: over HTTP the server must have given out no session, and a process must be known to keep nothing.
 */
export function mayShareLinks(server: JudgedServer): boolean {
  const { config, verdict, link } = server
  const { state } = config.settings
  if (state !== 'auto') return state === 'stateless'
  if (isStateful(server)) return false
  if ('url' in config.address) return link?.hasSession === false
  return verdict !== undefined && isKnownStateless(verdict.process)
}

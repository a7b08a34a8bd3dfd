/**
 * `createServer` of the stateless era alone, for places where nothing stays: no sessions, and no messages between
 * instances. A bundle contains the code of neither.
 */
import type { OptionNames } from '../protocol/index.ts'
import type { Server, ServerOptions } from '../server/index.ts'
import { openTelemetry, Server as ServerOf } from '../server/internal.ts'

export {
  AuthError,
  bearer,
  bearerChallenge,
  Declined,
  failure,
  hasClaim,
  inputRequired,
  JournalError,
  LimitError,
  localBus,
  ProtocolError,
  protectedResource,
  ScopeClosed,
  ServerError,
  structured,
  text,
} from '../server/index.ts'
export { openTelemetry }
export type { Server }

/** The parts that only sessions and connected instances need. */
type ElsewhereOptions = Pick<
  ServerOptions,
  'legacy' | 'architecture' | 'assume' | 'sessionTtlSeconds' | 'getStream' | 'advertise' | 'peers'
>

const ELSEWHERE: OptionNames<ElsewhereOptions> = {
  legacy: true,
  architecture: true,
  assume: true,
  sessionTtlSeconds: true,
  getStream: true,
  advertise: true,
  peers: true,
}

/** The options of `createServer`, without those for sessions and for other instances. */
export interface ModernServerOptions extends Omit<ServerOptions, keyof ElsewhereOptions> {
  /** `openTelemetry` of this entry traces and measures requests. @default no telemetry */
  telemetry?: typeof openTelemetry
}

/** A server without anything yet, for clients of revision 2026-07-28: add tools, prompts and resources, then mount it. */
export function createServer(options: ModernServerOptions): Server {
  for (const name of Object.keys(ELSEWHERE))
    if (Object.hasOwn(options, name))
      throw new TypeError(`createServer of pannier/modern has no option "${name}": import it from pannier/server.`)
  const { telemetry, ...others } = options
  return new ServerOf({ ...others, legacy: false }, { joinCluster: () => undefined, telemetry })
}

/** The methods that only the session era has. */
import { isLogLevel, ProtocolError } from '../../protocol/index.ts'
import type { Call, CallMethod } from '../call.ts'
import { type SessionDeclaration, serverCapabilities } from '../catalog/capabilities.ts'
import type { ServerIdentity } from '../options.ts'
import type { Registry } from '../catalog/registry.ts'
import { quotaCaller } from '../limits/quotaCaller.ts'
import type { Results } from '../results.ts'
import { readHandshake } from './session.ts'
import type { SessionFacts } from './sessionFacts.ts'
import { MAX_WATCHED_URI_CHARS, type WatchGuard } from '../modern/subscriptions.ts'
import type { TaskService } from '../taskPort.ts'

export interface SessionMethodsOptions {
  readonly registry: Registry
  readonly results: Results
  readonly facts: SessionFacts
  readonly access: WatchGuard
  readonly identity: ServerIdentity
  readonly declaration: SessionDeclaration
  readonly instructions: () => string | undefined
  readonly tasks: TaskService | undefined
}

// The official clients of these revisions accept an empty result only if it has no members at all, not even
// `resultType`.
const EMPTY = '{}'

export function sessionMethods({
  registry,
  results,
  facts,
  access,
  identity,
  declaration,
  instructions: currentInstructions,
  tasks,
}: SessionMethodsOptions): ReadonlyMap<string, CallMethod> {
  return new Map<string, CallMethod>([
    ['ping', () => EMPTY],
    [
      'initialize',
      (call) => {
        const { version } = readHandshake(call.params)
        const capabilities = serverCapabilities(registry, {
          ...tasks?.capabilities('legacy'),
          ...declaration.capabilities('legacy'),
        })
        const instructions = currentInstructions()
        const about = { protocolVersion: version, capabilities, serverInfo: declaration.serverInfo(identity) }
        return results.complete({ ...about, ...(instructions !== undefined && { instructions }) }, call.peer)
      },
    ],
    [
      'logging/setLevel',
      (call) => {
        const { level } = call.params
        if (!isLogLevel(level)) throw new ProtocolError('PARAMS_INVALID', '"params.level" must be a log level.')
        if (call.peer.session !== undefined) facts.setLevel(call.peer.session, level, quotaCaller(call))
        return EMPTY
      },
    ],
    [
      'resources/subscribe',
      (call) => {
        const uri = watchedUri(call, registry)
        access.assertWatchable(call, uri)
        const { session } = call.peer
        if (session !== undefined && !facts.watch(session, uri, quotaCaller(call))) throw tooManyWatched()
        return EMPTY
      },
    ],
    [
      'resources/unsubscribe',
      (call) => {
        const uri = watchedUri(call, registry)
        if (call.peer.session !== undefined) facts.unwatch(call.peer.session, uri)
        return EMPTY
      },
    ],
  ])
}

function watchedUri({ method, params }: Call, registry: Registry): string {
  if (!registry.hasResources) throw new ProtocolError('METHOD_UNKNOWN', `This server has no method "${method}".`)
  const { uri } = params
  if (typeof uri === 'string' && uri.length <= MAX_WATCHED_URI_CHARS) return uri
  throw new ProtocolError(
    'PARAMS_INVALID',
    `"params.uri" must be a string of at most ${MAX_WATCHED_URI_CHARS} characters.`,
  )
}

function tooManyWatched(): ProtocolError {
  return new ProtocolError(
    'PARAMS_INVALID',
    'This session, or its caller, has reached the limit of watched resources; unsubscribe from one first.',
  )
}

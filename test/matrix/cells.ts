/** Which clients, servers and behaviours meet, and which cannot. */
import { BEHAVIOURS } from './behaviours.ts'
import { CLIENTS, type ClientKind } from './clients/kinds.ts'
import { COMMANDS, type Form } from './fleet/forms.ts'
import { KINDS, SERVERS, type ServerName } from './fleet/servers.ts'

export interface Cell {
  readonly client: ClientKind
  readonly server: ServerName
  readonly behaviour: string
}

/**
 * Every client before a server of each era and transport, and every other server behind one client of each era: the
 * gateway tells clients apart by their era alone, and servers by their era and transport.
 */
const MET_BY_ALL: ReadonlySet<ServerName> = new Set(['ours', 'v1', 'v1-stdio'])
const MET_BY_SOME: ReadonlySet<ClientKind> = new Set(['v1', 'v2 stateless'])

export function clientsOf(server: ServerName): readonly ClientKind[] {
  return CLIENTS.filter((client) => MET_BY_ALL.has(server) || MET_BY_SOME.has(client))
}

/** Why a client or a server cannot do it at all; undefined where both can. */
export function whyNot({ client, server, behaviour }: Cell): string | undefined {
  const { isProcess, state } = KINDS[server]
  if (behaviour === 'log messages' && isProcess && state === 'stateless')
    return 'Callers share the process, and a log message on its output names no call.'
  if (!BEHAVIOURS[behaviour]?.needsTasks) return undefined
  if (!KINDS[server].hasTasks) return 'The server of the SDK v2 has no tasks.'
  if (client === 'v2 in a session') return 'The client of the SDK v2 knows no tasks in a session.'
  return undefined
}

export const ALL_CELLS: readonly Cell[] = SERVERS.flatMap((server) =>
  clientsOf(server).flatMap((client) => Object.keys(BEHAVIOURS).map((behaviour) => ({ client, server, behaviour }))),
)

export const POSSIBLE_CELLS: readonly Cell[] = ALL_CELLS.filter((cell) => whyNot(cell) === undefined)

/** Those of a form of the fleet: without gateways, clients meet our own server. */
export function cellsOf(form: Form): readonly Cell[] {
  return COMMANDS[form].isServer ? POSSIBLE_CELLS.filter(({ server }) => server === 'ours') : POSSIBLE_CELLS
}

export function nameOf({ client, server, behaviour }: Cell): string {
  return `${client} → ${server}, ${behaviour}`
}

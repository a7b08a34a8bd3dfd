/** What can happen at a message, and to whom. */
import { COMMANDS, type Form } from './fleet/forms.ts'

/**
 * `kill`: SIGKILL. `stop`: SIGTERM, as in a rolling restart. `cut`: the connection of the message ends. `hold`: the message is
 * late by seconds; an outbound one is cut then. `twice`: a request is sent again, because its response was lost.
 */
export const FAULT_KINDS = ['kill', 'stop', 'cut', 'hold', 'twice'] as const

export type FaultKind = (typeof FAULT_KINDS)[number]

/**
 * `holder`: the gateway that the first caller's call came to. `inbound` and `outbound`: of the balancer, or of what stands for
 * it on the other ways, the connection from the sender of a request and that to its receiver.
 */
export const VICTIMS = ['holder', 'other', 'server', 'client', 'inbound', 'outbound'] as const

export type Victim = (typeof VICTIMS)[number]

export interface Fault {
  readonly kind: FaultKind
  readonly victim: Victim
}

const HIT: Readonly<Record<FaultKind, readonly Victim[]>> = {
  kill: ['holder', 'other', 'server', 'client'],
  stop: ['holder', 'other', 'server', 'client'],
  cut: ['inbound', 'outbound'],
  hold: ['inbound', 'outbound'],
  twice: ['outbound'],
}

/** Every fault that there is. */
export const FAULTS: readonly Fault[] = FAULT_KINDS.flatMap((kind) => HIT[kind].map((victim) => ({ kind, victim })))

/** Those of a form of the fleet: without gateways, instances of the server stand in their place. */
export function faultsOf(form: Form): readonly Fault[] {
  return COMMANDS[form].isServer ? FAULTS.filter(({ victim }) => victim !== 'server') : FAULTS
}

/** A fault at the first message from this one on at which it can happen. */
export interface FaultAt extends Fault {
  readonly at: number
}

export function faultName({ kind, victim }: Fault): string {
  return `${kind} ${victim}`
}

/** Whether it ends a gateway, which is replaced by another one. */
export function endsGateway({ victim }: Fault): boolean {
  return victim === 'holder' || victim === 'other'
}

/** Whether it happens to a connection, and no process ends. */
export function isOfNetwork({ victim }: Fault): boolean {
  return victim === 'inbound' || victim === 'outbound'
}

/** Whether the message arrives in the end, however late. */
export function isDelivered({ kind, victim }: Fault): boolean {
  return kind === 'twice' || (kind === 'hold' && victim === 'inbound')
}

import { ConfirmScript } from '../load/confirmScript.ts'
import { EchoScript, type EchoTarget, prepareEchoes } from '../load/echoScript.ts'
import { httpLoad } from '../load/httpLoad.ts'
import type { Limit, Outcome } from '../load/load.ts'
import { stdioLoad } from '../load/stdioLoad.ts'
import { CONNECTIONS } from '../plan.ts'
import type { Child } from '../processes/child.ts'

/** Puts one process under load until the limit. */
export type Load = (child: Child, limit: Limit) => Promise<Outcome>

export function echoLoad(target: Omit<EchoTarget, 'port'> = {}): Load {
  let pool: ReturnType<typeof prepareEchoes> | undefined
  let prepared = 0
  return ({ port }, limit) => {
    if (pool === undefined || prepared !== port) pool = prepareEchoes({ ...target, port })
    prepared = port
    const echoes = pool
    const script = (index: number): EchoScript => new EchoScript(echoes, index * CONNECTIONS)
    return httpLoad({ port, connections: CONNECTIONS, limit, script })
  }
}

export function confirmLoad(): Load {
  return ({ port }, limit) => {
    const script = (index: number): ConfirmScript => new ConfirmScript(port, index)
    return httpLoad({ port, connections: CONNECTIONS, limit, script })
  }
}

export function pipeLoad(): Load {
  return ({ input, output }, limit) => {
    if (input === null || output === null) throw new Error('This process has no pipes.')
    return stdioLoad({ input, output, inFlight: CONNECTIONS, limit })
  }
}

/** The measured process puts the load on itself. */
export function ownLoad(): Load {
  return (child, limit) => child.ask<Outcome>('fetch', limit)
}

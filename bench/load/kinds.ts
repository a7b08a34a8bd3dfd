import { ConfirmScript } from './confirmScript.ts'
import { EchoScript, type EchoTarget, prepareEchoes } from './echoScript.ts'
import { openHttpLoad } from './httpLoad.ts'
import type { Outcome, Session } from './load.ts'
import { openStdioLoad } from './stdioLoad.ts'
import { CONNECTIONS } from '../plan.ts'
import type { Child } from '../processes/child.ts'

/** Opens a load on one process. */
export type Load = (child: Child) => Session | Promise<Session>

export function echoLoad(target: Omit<EchoTarget, 'port'> = {}): Load {
  const pools = new Map<number, ReturnType<typeof prepareEchoes>>()
  return ({ port }) => {
    const pool = pools.get(port) ?? prepareEchoes({ ...target, port })
    pools.set(port, pool)
    const script = (index: number): EchoScript => new EchoScript(pool, index * CONNECTIONS)
    return openHttpLoad({ port, connections: CONNECTIONS, script })
  }
}

export function confirmLoad(): Load {
  return ({ port }) => {
    const script = (index: number): ConfirmScript => new ConfirmScript(port, index)
    return openHttpLoad({ port, connections: CONNECTIONS, script })
  }
}

export function pipeLoad(): Load {
  return ({ input, output }) => {
    if (input === null || output === null) throw new Error('This process has no pipes.')
    return openStdioLoad({ input, output, inFlight: CONNECTIONS })
  }
}

/** The measured process makes its own load. */
export function selfLoad(topic: 'fetch' | 'read' | 'write' = 'fetch'): Load {
  return (child) => ({ run: (limit) => child.ask<Outcome>(topic, limit), close() {} })
}

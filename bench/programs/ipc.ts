import { writeFileSync } from 'node:fs'
import type { Session } from 'node:inspector/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * The measured process's side of Node's IPC channel to the bench: it handles the requests that `Child.ask` sends. The
 * channel costs nothing between requests, and the process ends when the bench does.
 */
export interface IpcRequest {
  id: number
  topic: string
  detail?: unknown
}

export type RequestHandlers = Record<string, (detail: never) => unknown>

export function serveRequests(more: RequestHandlers, ready: { port?: number } = {}): void {
  let profiler: Session | undefined
  const handlers: RequestHandlers = {
    cpu: cpuMs,
    memory: memoryAfterGc,
    startProfile: async () => {
      profiler = await startProfile()
    },
    stopProfile: (file: string) => stopProfile(profiler, file),
    ...more,
  }
  process.on('message', (request: IpcRequest) => void reply(request, handlers))
  process.on('disconnect', () => process.exit(0))
  process.send?.({ ready })
}

async function reply(request: IpcRequest, handlers: RequestHandlers): Promise<void> {
  try {
    const answer = await handlers[request.topic]?.(request.detail as never)
    process.send?.({ id: request.id, answer })
  } catch (error) {
    process.send?.({ id: request.id, error: error instanceof Error ? error.stack : String(error) })
  }
}

/** CPU time of this process so far, in milliseconds, all its threads together. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** V8 returns memory to the system some time after a collection, so there are several collections with pauses. */
async function memoryAfterGc(): Promise<NodeJS.MemoryUsage> {
  for (let turn = 0; turn < 4; turn++) {
    globalThis.gc?.()
    await sleep(150)
  }
  return process.memoryUsage()
}

/** The inspector is imported on use: it takes 3 MB, and memory is measured, too. */
async function startProfile(): Promise<Session> {
  const { Session } = await import('node:inspector/promises')
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: 200 })
  await session.post('Profiler.start')
  return session
}

async function stopProfile(session: Session | undefined, file: string): Promise<void> {
  if (session === undefined) throw new Error('No profile was started.')
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  writeFileSync(file, JSON.stringify(profile))
}

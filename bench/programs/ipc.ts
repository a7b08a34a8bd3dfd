import { writeFileSync } from 'node:fs'
import type { Session } from 'node:inspector/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * The side of a measured process that talks to the bench, over Node's IPC channel. It costs nothing between
 * questions, and the process ends when the bench does.
 */
export interface IpcRequest {
  id: number
  topic: string
  detail?: unknown
}

export type RequestHandlers = Record<string, (detail: never) => unknown>

export function serveRequests(more: RequestHandlers, ready: { port?: number } = {}): void {
  let profiler: Session | undefined
  const answers: RequestHandlers = {
    cpu: cpuMs,
    memory: memoryAfterGc,
    startProfile: async () => {
      profiler = await startProfile()
    },
    stopProfile: (file: string) => stopProfile(profiler, file),
    ...more,
  }
  process.on('message', (question: IpcRequest) => void reply(question, answers))
  process.on('disconnect', () => process.exit(0))
  process.send?.({ ready })
}

async function reply(question: IpcRequest, answers: RequestHandlers): Promise<void> {
  try {
    const answer = await answers[question.topic]?.(question.detail as never)
    process.send?.({ id: question.id, answer })
  } catch (error) {
    process.send?.({ id: question.id, error: error instanceof Error ? error.stack : String(error) })
  }
}

/** CPU time of this process so far, in milliseconds, all its threads together. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** V8 gives memory back a little after a collection, so it is asked more than once. */
async function memoryAfterGc(): Promise<NodeJS.MemoryUsage> {
  for (let turn = 0; turn < 4; turn++) {
    globalThis.gc?.()
    await sleep(150)
  }
  return process.memoryUsage()
}

/** Loaded only when wanted: it takes 3 MB, and memory is measured here too. */
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

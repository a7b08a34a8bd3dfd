/** Server programs that know nothing of the bench: the port is their only argument. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { onCore, SERVER_CORE } from './affinity.ts'
import { type CpuSource, processTreeCpu } from './cpuUsage.ts'

export interface PlainServer extends CpuSource {
  readonly port: number
  /** From before its process was created until it accepted a connection, in milliseconds. */
  readonly launchMs: number
  stop(): Promise<void>
}

const PATIENCE_MS = 30_000
const UNREPORTED = { DO_NOT_TRACK: '1', MCP_USE_ANONYMIZED_TELEMETRY: 'false' }

export async function startPlainServer(file: string, pinned: boolean): Promise<PlainServer> {
  const port = await freePort()
  const [command = '', ...args] = onCore(SERVER_CORE, pinned, [process.execPath, file, String(port)])
  const started = performance.now()
  // Some frameworks write a file into the working folder, and report their use.
  const child = spawn(command, args, { stdio: 'ignore', cwd: tmpdir(), env: { ...process.env, ...UNREPORTED } })
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  while (!(await accepts(port))) {
    if (child.exitCode !== null || performance.now() - started > PATIENCE_MS) {
      kill()
      throw new Error(`${file} did not start.`)
    }
    await sleep(1)
  }
  const launchMs = performance.now() - started
  return {
    ...processTreeCpu(child.pid ?? 0),
    port,
    launchMs,
    stop: async () => {
      kill()
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      process.off('exit', kill)
    },
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

export function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  return new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  }).finally(() => socket.destroy())
}

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onCore, SERVER_CORE } from '../../processes/affinity.ts'
import type { Child } from '../../processes/child.ts'
import { processTreeCpu } from '../../processes/cpuUsage.ts'
import { accepts, freePort } from '../../processes/plainServer.ts'

export const hasNginx = (): boolean => spawnSync('nginx', ['-v'], { stdio: 'ignore' }).status === 0

/** nginx as a proxy with kept connections and no log, as a measured process. */
export async function startNginx(backendPort: number, pinned: boolean): Promise<Child> {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-bench-nginx-'))
  const port = await freePort()
  writeFileSync(join(folder, 'nginx.conf'), configOf(folder, port, backendPort))
  const [command = '', ...args] = onCore(SERVER_CORE, pinned, [
    'nginx',
    '-p',
    folder,
    '-c',
    'nginx.conf',
    '-e',
    'stderr',
  ])
  const child = spawn(command, args, { stdio: 'ignore' })
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    if (child.exitCode === null) await once(child, 'exit')
    rmSync(folder, { recursive: true, force: true })
  }
  process.on('exit', () => child.kill('SIGTERM'))
  for (let attempt = 0; !(await accepts(port)); attempt++) {
    if (attempt === 100) throw new Error('nginx did not start.')
    await sleep(50)
  }
  const cpu = processTreeCpu(child.pid ?? 0)
  const ask = <T>(): Promise<T> => cpu.ask('cpu') as Promise<T>
  return { port, input: null, output: null, ask, stop }
}

function configOf(folder: string, port: number, backendPort: number): string {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  )
  return `daemon off; worker_processes 1; pid ${folder}/pid; events { worker_connections 1024; }
http {
  access_log off; ${paths.join(' ')}
  keepalive_requests 100000000;
  upstream backend { server 127.0.0.1:${backendPort}; keepalive 64; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }
  }
}
`
}

/** Our gateway in several processes, or in this one alone. */
import cluster from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import { type GatewayOptions, gatewayConfigOf } from 'pannier/gateway'
import { createGateway, runGatewayWorker, Workers } from '../../../src/gateway/internal.ts'
import { processTreeCpu } from '../../processes/cpuUsage.ts'
import { serveRequests } from '../ipc.ts'
import { type GatewayRole, readRole } from '../role.ts'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const create = (options: GatewayOptions) => createGateway({ ...options, logger: quiet })
const at = { host: '127.0.0.1', port: 0, insecure: false }

if (cluster.isWorker) await runGatewayWorker({ create, tableOf: async () => ({ text: '', late: [] }) })
else await serve()

async function serve(): Promise<void> {
  const { servers, workers = 1 } = readRole<GatewayRole>()
  const config = await gatewayConfigOf({ mcpServers: servers, gateway: { admin: false } })
  const { url, pids } = workers === 1 ? await alone(config) : await together(config, workers)
  const cpu = (): Promise<number> => processTreeCpu(process.pid).ask('cpu')
  serveRequests({ cpu, pids: () => pids }, { port: Number(new URL(url).port) })
}

async function alone(config: GatewayOptions) {
  const gateway = create(config)
  const { url } = await gateway.listen(at)
  await gateway.tried()
  return { url, pids: [process.pid] }
}

async function together(config: GatewayOptions, workers: number) {
  const all = new Workers({ workers, env: {}, config, onNews: () => {} })
  const url = await all.start(at)
  for (;;) {
    const states = await all.states()
    if (states.every(({ report }) => report?.health['up'] === 1)) return { url, pids: states.map(({ pid }) => pid) }
    await sleep(50)
  }
}

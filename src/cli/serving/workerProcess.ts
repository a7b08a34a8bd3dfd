/** How a process of the program knows that it is a worker of a gateway: others may start the program with `node:cluster`, too. */
import cluster from 'node:cluster'

const VARIABLE = 'PANNIER_GATEWAY_WORKER'

/** Given to workers. */
export const WORKER_ENV = { [VARIABLE]: '1' }

export function isWorkerProcess(): boolean {
  return cluster.isWorker && process.env[VARIABLE] !== undefined
}

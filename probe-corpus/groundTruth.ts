/** Shows the truth about a server, by asking it or by its source; nothing of the probe is used for it. */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { askBare } from './statelessClient.ts'
import type { Configuration, Truth } from './configuration.ts'
import { packageFile } from './packages.ts'
import type { Server } from './serverProcess.ts'
import { askTogether, type Said } from './sessionClient.ts'

/** A server, and an instance of it that has seen nothing. */
export interface Instances {
  readonly server: Server
  readonly fresh: Server
}

/** Undefined where it shows what is said to be true, else what it shows instead. */
export async function contradiction(instances: Instances, configuration: Configuration): Promise<string | undefined> {
  const { truth, proof } = configuration
  const { server, fresh } = instances
  if ('file' in proof) {
    const isThere = readFileSync(packageFile(proof.package, proof.file), 'utf8').includes(proof.line)
    return isThere ? undefined : `${proof.package}/${proof.file} has no "${proof.line}"`
  }
  const { requests, era } = proof
  // The newer era has no session to ask in.
  const together = await (era === 'modern' ? askBare(server, requests, era) : askTogether(server, requests))
  const alone = await askBare(fresh, requests.slice(-1), era ?? 'older')
  const shown = shownBy(together, alone)
  return shown === truth ? undefined : `in a session: ${JSON.stringify(together)}; alone: ${JSON.stringify(alone)}`
}

/** The same answer, whoever asked what before, means that nothing was needed from before. */
function shownBy(together: Said, alone: Said): Truth {
  return isDeepStrictEqual(together, alone) ? 'STATELESS' : 'STATEFUL'
}

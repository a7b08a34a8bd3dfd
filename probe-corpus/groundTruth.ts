/** Checks the stated truth about a server, by requests or by its source code, without the probe. */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { askWithoutSession } from './statelessClient.ts'
import type { Configuration, Truth } from './configuration.ts'
import { packageFile } from './packages.ts'
import type { Server } from './serverProcess.ts'
import { askInSession, type Reply } from './sessionClient.ts'

/** A server, and another instance of it that has got no request yet. */
export interface Instances {
  readonly server: Server
  readonly fresh: Server
}

/** Undefined where the stated truth is confirmed, else what was found instead. */
export async function contradiction(instances: Instances, configuration: Configuration): Promise<string | undefined> {
  const { truth, proof } = configuration
  const { server, fresh } = instances
  if ('file' in proof) {
    const isThere = readFileSync(packageFile(proof.package, proof.file), 'utf8').includes(proof.line)
    return isThere ? undefined : `${proof.package}/${proof.file} has no "${proof.line}"`
  }
  const { requests, era } = proof
  // The newer era has no sessions.
  const inSession = await (era === 'modern' ? askWithoutSession(server, requests, era) : askInSession(server, requests))
  const alone = await askWithoutSession(fresh, requests.slice(-1), era ?? 'older')
  const found = truthOf(inSession, alone)
  return found === truth ? undefined : `in a session: ${JSON.stringify(inSession)}; alone: ${JSON.stringify(alone)}`
}

/** The same reply with and without earlier requests means that the server is stateless. */
function truthOf(inSession: Reply, alone: Reply): Truth {
  return isDeepStrictEqual(inSession, alone) ? 'STATELESS' : 'STATEFUL'
}

/** A server of both eras, whose instances reach each other. */
import { assemble as assembleWith } from './assemble.ts'
import type { Relaying } from './calls/relaying.ts'
import { joinCluster, serveForwarded } from './clusterPart.ts'
import { legacyListed } from './legacy/listed.ts'
import type { ServerOptions } from './options.ts'
import { Server } from './server.ts'
import { sessionEra } from './legacy/sessionEra.ts'
import { openTelemetry } from './telemetry/telemetry.ts'

const WINGS = { joinCluster, serveForwarded, sessionEra, legacyListed, telemetry: openTelemetry }

export type Assembly = ReturnType<typeof assemble>

export function assemble(options: ServerOptions, relaying?: Relaying) {
  const assembly = assembleWith(options, WINGS, relaying)
  const { cluster, scope, newRequests } = assembly.clusterPart
  return { ...assembly, cluster, scope, newRequests }
}

/** A server without anything yet: add tools, prompts and resources, then listen or mount it. */
export function createServer(options: ServerOptions): Server {
  return new Server(options, WINGS)
}

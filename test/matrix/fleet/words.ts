/** What the words of a gateway's command line stand for, and the configuration that it reads. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { quickStart } from '../../bundle/environment.ts'
import type { GatewayCommand, ServerEntry, Words } from './gateways.ts'
import { commandLine, KINDS, type ServerName } from './servers.ts'

export interface Behind {
  readonly server: ServerName
  /** Of a server over HTTP. */
  readonly url: string | undefined
  /** What a server on standard input and output needs. */
  readonly env: Readonly<Record<string, string>>
  /** Of ours. */
  readonly adminPort: number
}

/** Processes and sessions that nobody uses end soon, and calls that nobody answers, so that what is left is left for good. */
const IDLE_SECONDS = 5
const PARK_SECONDS = 20

/** Those of the server; `folder` gets the configuration. */
export function wordsOf(behind: Behind, folder: string, file: GatewayCommand['file']): Words {
  const { server, url, env, adminPort } = behind
  const { command, args } = commandLine(KINDS[server])
  const given = { ...quickStart, ...env }
  const entry: ServerEntry = url === undefined ? { command, args, env: given } : { url }
  const path = join(folder, 'mcp.json')
  writeFileSync(path, JSON.stringify(file?.(entry) ?? ourFile(server, entry, adminPort)))
  // Not every gateway passes its environment on.
  const COMMAND = ['env', ...Object.entries(given).map(([name, value]) => `${name}=${value}`), command, ...args]
  const LINE = COMMAND.map((part) => `'${part}'`).join(' ')
  return { COMMAND, FILE: path, FOLDER: folder, URL: url ?? '', LINE }
}

function ourFile(server: ServerName, entry: ServerEntry, adminPort: number): unknown {
  const pannier = { state: KINDS[server].state, idleSeconds: IDLE_SECONDS, parkSeconds: PARK_SECONDS }
  return { mcpServers: { [server]: { ...entry, pannier } }, gateway: { admin: { port: adminPort } } }
}

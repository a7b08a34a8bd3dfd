import { type Client, LOG_LEVEL_META_KEY, type LoggingLevel } from '@modelcontextprotocol/client'
import { MODERN_VERSION, reaches } from '../protocol/index.ts'
import type { ClientFlags } from './options/client.ts'
import type { Desk } from './run.ts'

/** What the server logs, from a level on. The older era has one level for a connection, the newer one for a request. */
export async function listenToLog(
  client: Client,
  level: LoggingLevel | undefined,
  { display, signal }: Desk,
): Promise<void> {
  if (level === undefined) return
  client.setNotificationHandler('notifications/message', ({ params }) => {
    if (reaches(params.level, level)) display.log(params)
  })
  const isLegacy = client.getNegotiatedProtocolVersion() !== MODERN_VERSION
  if (isLegacy && client.getServerCapabilities()?.logging) await client.setLoggingLevel(level, { signal })
}

/** What a request of the newer era says about the log. */
export function logMeta({ logLevel }: ClientFlags): { _meta?: Record<string, string> } {
  return logLevel === undefined ? {} : { _meta: { [LOG_LEVEL_META_KEY]: logLevel } }
}

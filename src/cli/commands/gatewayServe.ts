/** Serving the servers of a file, until the program is stopped. */
import { watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Gateway, GatewayConfig } from '../../gateway/index.ts'
import { storedLoginFor } from '../connection.ts'
import { EXIT, type ExitCode, InputError } from '../exit.ts'
import { lineWidth } from '../output/layout.ts'
import type { CommandContext } from '../run.ts'

export interface ServeOptions {
  readonly port: number
  readonly host: string
  readonly insecure?: boolean
  readonly stdio?: boolean
  readonly watch?: boolean
}

/** What SIGHUP does while a file is served. */
let onHangup = (): void => {}

export function reread(): void {
  onHangup()
}

/** How long to wait for servers before the table is shown without them. */
const TABLE_MS = 10_000
/** Editors write a file in several steps. */
const SETTLED_MS = 200

export async function serveGateway(file: string, options: ServeOptions, context: CommandContext): Promise<ExitCode> {
  const { createGateway, problemText, readGatewayConfig } = await import('../../gateway/internal.ts')
  const { display, signal } = context
  const config = await readGatewayConfig(file)
  const gateway = createGateway({ ...config, authorizer: ({ url }) => storedLoginFor(url) })
  const showUnusable = ({ unusable }: GatewayConfig): void => {
    for (const problem of unusable.flatMap(({ problems }) => problems))
      display.note(`Left out: ${problemText(problem)}`)
  }
  showUnusable(config)

  const reload = async (): Promise<void> => {
    try {
      const changed = await readGatewayConfig(file)
      await gateway.reload(changed)
      display.note(`${file} was read again.`)
      showUnusable(changed)
    } catch (error) {
      display.note(`${file} was not used, and nothing changes: ${error instanceof Error ? error.message : ''}`)
    }
  }
  onHangup = () => void reload()
  const stopWatching = options.watch ? watchFile(file, reload) : () => {}
  try {
    if (options.stdio) await Promise.race([gateway.stdio(), aborted(signal)])
    else {
      const { port, host, insecure = false } = options
      const { url } = await listenOrExplain(() => gateway.listen({ port, host, insecure, drainOnTerm: false }))
      if (config.settings.admin !== false) await startAdmin(gateway, context)
      await showTable(gateway, url, context)
      await aborted(signal)
    }
    return EXIT.ok
  } finally {
    stopWatching()
    await gateway.drain()
  }
}

/** A port that is in use, or an address that everyone could reach, is a mistake of the user. */
async function listenOrExplain<T>(listen: () => Promise<T>): Promise<T> {
  try {
    return await listen()
  } catch (error) {
    const isMistake = error instanceof TypeError || (error instanceof Error && 'code' in error)
    throw isMistake ? new InputError(error.message) : error
  }
}

/** Without its admin address the gateway serves all the same: another one may have the port. */
async function startAdmin(gateway: Gateway, { display }: CommandContext): Promise<void> {
  try {
    const { prometheusMetrics } = await import('../../gateway/internal.ts')
    const metrics = await prometheusMetrics()
    const admin = await gateway.listenAdmin({ metrics })
    const pages = metrics === undefined ? ['health', 'servers'] : ['health', 'servers', 'metrics']
    if (admin !== undefined)
      display.note(`Health and servers: ${pages.map((page) => `${admin.url}${page}`).join(', ')}`)
  } catch (error) {
    display.note(`There is no admin address: ${error instanceof Error ? error.message : ''}`)
  }
}

async function showTable(gateway: Gateway, url: string, { display, signal }: CommandContext): Promise<void> {
  const { catalogueText, servedText } = await import('../output/gateway.ts')
  display.note(`Serving ${url}`)
  const late = new Promise((resolve) => setTimeout(resolve, TABLE_MS).unref())
  await Promise.race([gateway.judged(), late, aborted(signal)])
  if (!signal.aborted) {
    display.note(servedText(gateway, lineWidth()))
    for (const catalogue of gateway.catalogues) display.note(catalogueText(catalogue))
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Watches the folder, because editors put a new file in the place of the old one. */
function watchFile(file: string, changed: () => Promise<void>): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const watcher = watch(dirname(file), (_, name) => {
    if (name !== basename(file)) return
    clearTimeout(timer)
    timer = setTimeout(() => void changed(), SETTLED_MS)
  })
  return () => {
    clearTimeout(timer)
    watcher.close()
  }
}

/** Reads a served file again: at SIGHUP, and with --watch when it changes. */
import { dirname, join } from 'node:path'
import type { GatewayConfig } from '../../gateway/index.ts'
import { FileWatch } from './fileWatch.ts'
import type { ServedGateway } from './served.ts'

export interface RereadOptions {
  readonly file: string
  /** The configuration at the start. */
  readonly config: GatewayConfig
  readonly read: () => Promise<GatewayConfig>
  readonly served: Pick<ServedGateway, 'reload'>
  readonly showProblems: (config: GatewayConfig) => void
  readonly note: (sentence: string) => void
  readonly isWatched: boolean
}

/** What SIGHUP does while a file is served. */
let onHangup = (): void => {}

export function reread(): void {
  onHangup()
}

/** Returns the function that ends the watch. */
export function rereadOnChange(options: RereadOptions): () => void {
  const { file, config, isWatched } = options
  let current = config
  const reload = async (): Promise<void> => void (current = await reloaded(options, current))
  onHangup = () => void reload()
  return isWatched ? watchFile(file, reload) : () => {}
}

/** The configuration that is served from now on. */
async function reloaded(options: RereadOptions, current: GatewayConfig): Promise<GatewayConfig> {
  const { file, config, read, served, showProblems, note } = options
  const { restartSettings } = await import('../../gateway/internal.ts')
  const { changesText } = await import('../output/gateway.ts')
  try {
    const changed = await read()
    await served.reload(changed)
    note(`${file} was read again: ${changesText(current, changed)}`)
    for (const name of restartSettings(config.settings, changed.settings))
      note(`gateway.${name} has changed, which counts from the next start on.`)
    showProblems(changed)
    return changed
  } catch (error) {
    note(`${file} was not used, and nothing changes: ${error instanceof Error ? error.message : ''}`)
    return current
  }
}

/** The link that Kubernetes replaces when a mounted secret or config map changes; the link of the file stays. */
const KUBERNETES_LINK = '..data'

function watchFile(file: string, changed: () => Promise<void>): () => void {
  const watch = new FileWatch(() => void changed())
  for (const path of [file, join(dirname(file), KUBERNETES_LINK)]) watch.add(path)
  return () => watch.close()
}

import { spawn } from 'node:child_process'
import { setTimeout } from 'node:timers/promises'

// A browser that the opener starts may live on with it; one that cannot start says so at once.
const PATIENCE_MS = 1500

/** Opens an address in the person's browser, by the system's own opener and without a shell. */
export async function openPage(href: string): Promise<void> {
  const [command, args] = openerOf(process.platform, href)
  const child = spawn(command, args, { stdio: 'ignore', detached: true, shell: false })
  const over = new AbortController()
  const ended = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('exit', resolve))
  const code = await Promise.race([ended, setTimeout(PATIENCE_MS, 0, { signal: over.signal })])
  over.abort()
  child.unref()
  if (code !== 0) throw new Error(`${command} ended with ${code}.`)
}

/** The command for a system. On Windows `start` is a word of the shell, which would read the address; this is not. */
export function openerOf(platform: NodeJS.Platform, href: string): [string, string[]] {
  if (platform === 'win32') return ['rundll32', ['url.dll,FileProtocolHandler', href]]
  return [platform === 'darwin' ? 'open' : 'xdg-open', [href]]
}

/** A page to visit: the person sees its host and whole address first, and nothing is opened without a yes. */
import type { ElicitRequestURLParams } from '@modelcontextprotocol/client'
import { findNodeModule, type Json, nodeModule } from '../../protocol/index.ts'
import type { Asked } from '../questions/answerer.ts'
import { wholeLines } from '../../questions/index.ts'
import type { Screen } from './screen.ts'
import { introduce, WAYS_OUT } from './whoAsks.ts'

export type OpenPage = (href: string) => void | Promise<void>

export async function showVisit(
  screen: Screen,
  asked: Asked,
  params: ElicitRequestURLParams,
  open: OpenPage,
): Promise<Json> {
  screen.begin('A server wants you to visit a page')
  introduce(screen, asked, params.message)
  const address = readVisitAddress(params.url)
  if (address.kind === 'refused') {
    screen.warn(['The address is not opened, and the server gets a no.', address.reason])
    return { action: 'decline' }
  }
  const { href, host, warnings } = address
  screen.say([`Host:    ${host}`, 'Address:', ...wholeLines(href, screen.width)])
  if (warnings.length > 0) screen.warn(warnings)
  const yes = { value: 'open' as const, label: 'Yes, open it' }
  // Pressing Enter at once opens nothing.
  const choice = await screen.choose(`Open this page at ${host} in your browser?`, [yes, ...WAYS_OUT], 'decline')
  if (choice !== 'open') return { action: choice }
  await tryToOpen(screen, href, open)
  // After the answer the server checks whether the person has finished on the page, so the person says when to send it.
  const done = { value: 'accept' as const, label: 'Continue', hint: 'when you are done there' }
  return { action: await screen.choose('Continue the call?', [done, ...WAYS_OUT]) }
}

async function tryToOpen(screen: Screen, href: string, open: OpenPage): Promise<void> {
  try {
    await open(href)
  } catch {
    screen.warn(['No browser could be opened. Open the address above yourself, if you want to.'])
  }
}

/** The address of a page to visit, as it is shown and opened; or why it is not opened. */
export type VisitAddress =
  | {
      readonly kind: 'usable'
      /** The address as it is shown and opened, in ASCII. */
      readonly href: string
      /** Name and port, in ASCII. */
      readonly host: string
      /** Warnings that a person should read before agreeing. */
      readonly warnings: readonly string[]
    }
  | { readonly kind: 'refused'; readonly reason: string }

const MAX_ADDRESS_CHARS = 8192

/** Checks the address of a page that a server wants a person to visit. */
export function readVisitAddress(text: unknown): VisitAddress {
  if (typeof text !== 'string' || !URL.canParse(text)) return refused('It is not a whole address.')
  const url = new URL(text)
  if (url.href.length > MAX_ADDRESS_CHARS)
    return refused(`It has more than ${MAX_ADDRESS_CHARS} characters, too many to look at.`)
  if (url.username !== '' || url.password !== '') {
    return refused('It has a user name or password in front of the host, which makes the host look like another.')
  }
  const local = isLocal(url.hostname)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && local)) {
    return refused('Only https addresses are opened, and http ones on this computer.')
  }
  return { kind: 'usable', href: url.href, host: url.host, warnings: warningsOf(url, local) }
}

function warningsOf({ hostname }: URL, local: boolean): string[] {
  const warnings: string[] = []
  if (hostname.split('.').some((label) => label.startsWith('xn--'))) {
    const written = findNodeModule('node:url')?.domainToUnicode(hostname) ?? hostname
    warnings.push(`The host is written with letters beyond a to z: "${written}". They may imitate others.`)
  }
  if (local) warnings.push('The page is on this computer.')
  else if (isIpAddress(hostname)) warnings.push('The host is a bare number, not a name.')
  return warnings
}

// The URL parser normalises every spelling of an IPv4 address.
function isLocal(hostname: string): boolean {
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) return true
  return (isIpAddress(hostname) && hostname.startsWith('127.')) || hostname === '[::1]'
}

// No other host of a URL ends with a number (URL Standard, host parsing), or is in brackets.
function isIpAddress(hostname: string): boolean {
  return hostname.startsWith('[') || /(^|\.)\d+\.?$/.test(hostname)
}

function refused(reason: string): VisitAddress {
  return { kind: 'refused', reason }
}

// The opener may run as long as the browser that it starts. Fails at once if no browser can be started.
const OPENER_TIMEOUT_MS = 1500

/** Opens an address in the person's browser, by the system's own opener and without a shell. */
export async function openPage(href: string): Promise<void> {
  const [command, args] = openerOf(process.platform, href)
  const child = nodeModule('node:child_process').spawn(command, args, { stdio: 'ignore', detached: true, shell: false })
  let timer: ReturnType<typeof setTimeout> | undefined
  const startedAnyway = new Promise<0>((resolve) => (timer = setTimeout(resolve, OPENER_TIMEOUT_MS, 0)))
  const ended = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('exit', resolve))
  const code = await Promise.race([ended, startedAnyway]).finally(() => clearTimeout(timer))
  child.unref()
  if (code !== 0) throw new Error(`${command} ended with ${code}.`)
}

/** The opener of a system. On Windows not `start`: that belongs to the shell, which would interpret the address. */
export function openerOf(platform: NodeJS.Platform, href: string): [string, string[]] {
  if (platform === 'win32') return ['rundll32', ['url.dll,FileProtocolHandler', href]]
  return [platform === 'darwin' ? 'open' : 'xdg-open', [href]]
}

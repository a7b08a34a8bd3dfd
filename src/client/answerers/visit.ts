/** A page to visit: its whole address and its host are seen before anything is opened, and only a yes opens it. */
import type { ElicitRequestURLParams } from '@modelcontextprotocol/client'
import type { Json } from '../../protocol/index.ts'
import type { Asked } from '../questions/answerer.ts'
import { wholeLines } from '../safeText.ts'
import type { Screen } from './screen.ts'
import { readVisitAddress } from './visitAddress.ts'
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
    screen.warn(['The address is not opened, and the server is told no.', address.reason])
    return { action: 'decline' }
  }
  const { href, host, warnings } = address
  screen.say([`Host:    ${host}`, 'Address:', ...wholeLines(href, screen.width)])
  if (warnings.length > 0) screen.warn(warnings)
  const yes = { value: 'open' as const, label: 'Yes, open it' }
  // Pressing Enter without looking opens nothing.
  const choice = await screen.choose(`Open this page at ${host} in your browser?`, [yes, ...WAYS_OUT], 'decline')
  if (choice !== 'open') return { action: choice }
  await tryToOpen(screen, href, open)
  // The answer lets the server look whether the page was dealt with, so it goes out when the person says so.
  const done = { value: 'accept' as const, label: 'Go on', hint: 'when you are done there' }
  return { action: await screen.choose('Continue the call?', [done, ...WAYS_OUT]) }
}

async function tryToOpen(screen: Screen, href: string, open: OpenPage): Promise<void> {
  try {
    await open(href)
  } catch {
    screen.warn(['No browser could be opened. Open the address above yourself, if you want to.'])
  }
}

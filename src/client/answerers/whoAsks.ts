/** What a person sees first of every question: which server asks, for which call, and the server's message. */
import type { Asked } from '../questions/answerer.ts'
import { plainLine, plainLines } from '../../questions/index.ts'
import type { Option, Screen } from './screen.ts'

export const WAYS_OUT: readonly Option<'decline' | 'cancel'>[] = [
  { value: 'decline', label: 'Decline', hint: 'tell the server no' },
  { value: 'cancel', label: 'Cancel', hint: 'give no answer' },
]

/** The server's text with a mark before each line, so that it cannot be taken for ours. */
export function quoted({ width }: Screen, text: string, maxLines: number): string[] {
  return plainLines(text, { width: width - 2, maxLines }).map((line) => `> ${line}`)
}

export function introduce(screen: Screen, { server, call }: Asked, message: unknown): void {
  const said = typeof message === 'string' ? message : ''
  screen.say([
    `Server: ${serverName(server)}`,
    `For:    ${callName(call)}`,
    '',
    ...(said === '' ? ['The server gives no reason.'] : ['The server says:', ...quoted(screen, said, 20)]),
  ])
}

function callName(call: Asked['call']): string {
  if (call === undefined) return 'one of the calls under way; the server does not say which'
  const method = plainLine(call.method, 40)
  return call.name === undefined ? method : `${method} "${plainLine(call.name, 120)}"`
}

// The target comes first: the host knows it, while the name is the server's own claim.
function serverName({ name, target }: Asked['server']): string {
  const claimed = name === undefined ? undefined : `calls itself "${plainLine(name, 80)}"`
  const reached = target === undefined ? undefined : plainLine(target, 200)
  return [reached, claimed].filter((part) => part !== undefined).join(', ') || '(not known)'
}

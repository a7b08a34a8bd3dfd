/** What a call can do, and what its client must see. */
import type { ToolResult } from './clients.ts'

export interface Behaviour {
  readonly tool: string
  /** Whether the result is the right one, for a caller of this name. */
  readonly isRight: (result: ToolResult, seen: Seen) => boolean
  /** Whether the client gives up as soon as the tool has begun. */
  readonly isCancelled?: true
  /** Whether the tool says that it may run twice. */
  readonly mayRepeat?: true
}

export interface Seen {
  readonly name: string
  readonly key: string
  readonly progress: number
}

const text = (expected: (seen: Seen) => string) => (result: ToolResult, seen: Seen) =>
  result.isError !== true && result.content.map((part) => part.text).join('') === expected(seen)

export const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  'a plain call': { tool: 'plain', isRight: text(() => 'plain') },
  'one elicitation': { tool: 'one', isRight: text(({ name }) => name) },
  'two, one after the other': { tool: 'two', isRight: text(({ name }) => `${name} ${name}`) },
  'two, of a tool that may run twice': {
    tool: 'two_again',
    isRight: text(({ name }) => `${name} ${name}`),
    mayRepeat: true,
  },
  'several at once': { tool: 'many', isRight: text(({ name }) => `${name} ${name} ${name}`) },
  decline: { tool: 'decline', isRight: text(() => 'decline') },
  cancel: { tool: 'cancel', isRight: text(() => 'cancel') },
  sampling: { tool: 'sample', isRight: text(({ name }) => name) },
  roots: { tool: 'roots', isRight: text(({ name }) => `file:///${name}`) },
  progress: {
    tool: 'progress',
    isRight: (result, seen) => text(() => 'reported')(result, seen) && seen.progress === 3,
  },
  'cancellation by the client': { tool: 'cancelled', isRight: () => false, isCancelled: true },
  'structured results': {
    tool: 'structured',
    isRight: ({ structuredContent }, { key }) => (structuredContent as { key?: unknown } | undefined)?.key === key,
  },
  errors: {
    tool: 'failed',
    isRight: (result) => result.isError === true && result.content.map((part) => part.text).join('') === 'It broke.',
  },
}

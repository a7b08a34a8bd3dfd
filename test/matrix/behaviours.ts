/** What a call can do, and what its client must see. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallOptions, Heard, MatrixClient, ToolResult } from './clients/client.ts'
import { PAGED } from './serving/pages.ts'

/** A call of one of the two who call. */
export interface Caller {
  readonly key: string
  readonly client: MatrixClient
  readonly heard: Heard
  readonly options: CallOptions
  /** The name of a tool at the gateways. */
  readonly toolName: (tool: string) => string
  /** The address of a resource as its server has it. */
  readonly plainUri: (uri: string) => string
  /** Whether a fault has happened, so that not everything can be heard any more. */
  readonly isDisturbed: () => boolean
}

export interface Behaviour {
  readonly tool: string
  /** @default calls the tool */
  readonly run?: (caller: Caller) => Promise<ToolResult>
  /** Whether the result is the right one, for this caller. */
  readonly isRight: (result: ToolResult, caller: Caller) => boolean
  /** Whether the client gives up as soon as the tool has begun. */
  readonly isCancelled?: true
  /** Whether the tool says that it may run twice, or does nothing that counts. */
  readonly mayRepeat?: true
  readonly needsTasks?: true
  /** Whether it asks its caller, so that a call may take several requests. */
  readonly isAsked?: true
  /** How many calls each caller makes at once, by one client. @default 1 */
  readonly calls?: number
  /** How long a person takes to fill in a form, in milliseconds, so that several are open at once. @default 0 */
  readonly thinksMs?: number
}

const CHANGES = 20
const HEARD_WITHIN_MS = 500

/** The gateway's own text in a result: the process or session that the server had for this caller has ended. */
const LOSS = /What the server kept there is gone\.$/

export function textOf(result: ToolResult): string {
  const texts = result.content.map((part) => part.text ?? '')
  return texts.filter((text) => !LOSS.test(text)).join('')
}

const text = (expected: (key: string) => string) => (result: ToolResult, caller: Caller) =>
  result.isError !== true && textOf(result) === expected(caller.key)

const twice = text((key) => `${key} ${key}`)

function callTool({ client, key, options, toolName }: Caller, tool: string): Promise<ToolResult> {
  return client.call(toolName(tool), { key }, options)
}

/** A client does not learn when its subscription counts, so the server changes until the client has heard of it. */
async function changeUntil(caller: Caller, tool: string, isHeard: () => boolean): Promise<ToolResult> {
  await caller.client.listen(tool === 'touch' ? `note://${caller.key}` : undefined)
  let result = await callTool(caller, tool)
  for (let time = 1; time < CHANGES && !isHeard(); time++) {
    for (let waited = 0; waited < HEARD_WITHIN_MS && !isHeard(); waited += 20) await sleep(20)
    if (isHeard() || caller.isDisturbed()) break
    result = await callTool(caller, tool)
  }
  return result
}

const hasHeard = (caller: Caller, isHeard: boolean): boolean => isHeard || caller.isDisturbed()

export const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  'a plain call': { tool: 'plain', isRight: text(() => 'plain') },
  'one elicitation': { tool: 'one', isAsked: true, isRight: text((key) => key) },
  'two, one after the other': { tool: 'two', isAsked: true, isRight: twice },
  'two, of a tool that may run twice': { tool: 'two_again', isAsked: true, isRight: twice, mayRepeat: true },
  'several questions at once': { tool: 'many', isAsked: true, isRight: text((key) => `${key} ${key} ${key}`) },
  'three calls at once': { tool: 'two', isAsked: true, isRight: twice, calls: 3, thinksMs: 300 },
  'URL mode': { tool: 'visit', isAsked: true, isRight: text(() => 'accept') },
  decline: { tool: 'decline', isAsked: true, isRight: text(() => 'decline') },
  cancel: { tool: 'cancel', isAsked: true, isRight: text(() => 'cancel') },
  sampling: { tool: 'sample', isAsked: true, isRight: text((key) => key) },
  roots: { tool: 'roots', isAsked: true, isRight: text((key) => `file:///${key}`) },
  progress: {
    tool: 'progress',
    isRight: (result, caller) =>
      text(() => 'reported')(result, caller) && hasHeard(caller, caller.heard.progress === 3),
  },
  'log messages': {
    tool: 'log',
    run: async (caller) => {
      await caller.client.hearLogs()
      return callTool(caller, 'log')
    },
    isRight: (result, caller) =>
      text(() => 'logged')(result, caller) &&
      hasHeard(caller, caller.heard.logs.join() === [1, 2, 3].map((turn) => `${caller.key} ${turn}`).join()),
  },
  'cancellation by the client': { tool: 'cancelled', isRight: () => false, isCancelled: true },
  'list changes': {
    tool: 'change',
    run: (caller) => changeUntil(caller, 'change', () => caller.heard.lists > 0),
    isRight: (result, caller) => text(() => 'changed')(result, caller) && hasHeard(caller, caller.heard.lists > 0),
    mayRepeat: true,
  },
  'resource updates': {
    tool: 'touch',
    run: (caller) => changeUntil(caller, 'touch', () => caller.heard.updated.length > 0),
    isRight: (result, caller) =>
      text(() => 'touched')(result, caller) && hasHeard(caller, caller.heard.updated.includes(`note://${caller.key}`)),
    mayRepeat: true,
  },
  pagination: {
    tool: 'plain',
    run: async ({ client, plainUri }) => {
      const uris = (await client.resources()).map(plainUri)
      return { content: [{ text: uris.toSorted().join() }] }
    },
    isRight: text(() => PAGED.toSorted().join()),
    mayRepeat: true,
  },
  'tasks that ask': {
    tool: 'task',
    run: ({ client, key, options, toolName }) =>
      client.task?.(toolName('task'), { key }, options) ?? Promise.reject(new Error('This client knows no tasks.')),
    isRight: twice,
    needsTasks: true,
    isAsked: true,
  },
  'structured results': {
    tool: 'structured',
    isRight: ({ structuredContent }, { key }) => (structuredContent as { key?: unknown } | undefined)?.key === key,
  },
  errors: { tool: 'failed', isRight: (result) => result.isError === true && textOf(result) === 'It broke.' },
}

export function perform(behaviour: Behaviour, caller: Caller): Promise<ToolResult> {
  return behaviour.run?.(caller) ?? callTool(caller, behaviour.tool)
}

/**
 * What tools say about a process that keeps something, found in their names, descriptions and schemas without calling
 * any. Each signal counts how many tools show it, and names some of them. `toolWeights.ts` says how much each counts.
 */
import { plainLine } from '../../client/index.ts'
import { isObject, type Json } from '../../protocol/index.ts'
import { handlesIn, toolName } from './toolHandles.ts'
import {
  PAIRS,
  SESSION_PARAMETER,
  PAGE_ACTION,
  SETTER,
  CURRENT,
  CALL_FIRST,
  BACKGROUND,
  BEGINS,
  LIVE,
  CONNECT,
  IN_PROCESS,
  THOUGHT,
} from './toolWords.ts'

/** One tool, as the signals read it. */
interface ReadTool {
  readonly shown: string
  /** The words of its name, in lower case, joined by single spaces. */
  readonly name: string
  readonly description: string
  readonly parameters: readonly string[]
  readonly isReadOnly: boolean
}

interface Signal {
  /** Begins a sentence that goes on with the names of tools. */
  readonly because: string
  /** The names of what shows it. */
  readonly found: (tools: readonly ReadTool[], listed: readonly Json[], about: Json) => readonly string[]
}

export interface FoundSignal {
  readonly name: SignalName
  /** From 0 to 1. */
  readonly strength: number
  readonly sentence: string
}

const MAX_NAMED = 4
const MAX_DESCRIPTION = 500

/** The names are those of the weights. */
export const SIGNALS = {
  pair: {
    because: 'There is a pair of tools that begins and ends something',
    found: (tools) =>
      PAIRS.flatMap(([begins, ends]) => {
        const first = tools.find(({ name }) => begins.test(name))
        const last = tools.find((tool) => tool !== first && ends.test(tool.name) && isKin(first, tool))
        return first === undefined || last === undefined ? [] : [first.shown, last.shown]
      }),
  },
  page: {
    because: 'There are tools that act on a page or a screen, one after the other',
    found: (tools) => atLeast(2, named(tools, PAGE_ACTION)),
  },
  sessionParameter: {
    because: 'There are tools that take the id of something that another call began',
    found: (tools) =>
      shownOf(tools.filter(({ parameters }) => parameters.some((name) => SESSION_PARAMETER.test(name)))),
  },
  handle: {
    because: 'There are results with an id that other tools require',
    found: (_, listed) => handlesIn(listed).flatMap(({ from }) => from),
  },
  setter: { because: 'There are tools that set what later calls use', found: (tools) => named(tools, SETTER) },
  current: {
    because: 'There are tools that speak of what is open or current',
    found: (tools) => shownOf(tools.filter(({ name, description }) => CURRENT.test(`${name}. ${description}`))),
  },
  callFirst: {
    because: 'There are tools that have to be called before others',
    found: (tools) => described(tools, CALL_FIRST),
  },
  session: {
    because: 'There are tools that speak of a session',
    found: (tools) =>
      shownOf(tools.filter(({ name, description }) => /\bsessions?\b/i.test(`${name}. ${description}`))),
  },
  history: {
    because: 'There are tools that speak of what was done before',
    found: (tools) =>
      shownOf(
        tools.filter(
          ({ name, description }) =>
            /\b(history|undo|redo|thoughts?|thinking|previous step)\b/.test(name) ||
            /\b(previous (thoughts?|steps?|calls?|messages?)|conversation history|command history|undo)\b/i.test(
              description,
            ),
        ),
      ),
  },
  reset: {
    because: 'There are tools that reset or clear something',
    found: (tools) => named(tools, /^(.* )?(reset|clear|flush|restart|reload|invalidate)( .*)?$/),
  },
  background: {
    because: 'There are tools that work with processes that go on running',
    found: (tools) =>
      shownOf(
        tools.filter(
          ({ name, description }) =>
            BACKGROUND.test(description) ||
            /\b(kill|terminate|spawn|interrupt|tunnel|port forward)\b|\b(read|get) (.* )?output\b|\b(send|write) (.* )?(input|stdin|keys)\b/.test(
              name,
            ),
        ),
      ),
  },
  inProcess: {
    because: 'There are tools that say they remember something for later calls',
    found: (tools) => described(tools, IN_PROCESS),
  },
  begins: { because: 'There are tools that begin something that goes on', found: (tools) => named(tools, BEGINS) },
  live: { because: 'There are tools that list or steer what goes on', found: (tools) => named(tools, LIVE) },
  connect: { because: 'There are tools that connect to something', found: (tools) => named(tools, CONNECT) },
  login: {
    because: 'There are tools that log in',
    found: (tools) => named(tools, /^(.* )?(login|log in|sign in|authenticate|unlock|join)( .*)?$/),
  },
  debug: {
    because: 'There are tools that step through a program',
    found: (tools) => named(tools, /\b(breakpoints?|step (over|into|out)|continue execution|stack trace|callstack)\b/),
  },
  game: {
    because: 'There are tools that play or simulate something step by step',
    found: (tools) => named(tools, /\b(game|chess|simulation|scene|emulator|recording|playback)\b/),
  },
  toggled: {
    because: 'There are tools that turn others on or off',
    found: (tools) =>
      shownOf(
        tools.filter(({ name, description }) =>
          /\b(toggle|enable|disable|activate|deactivate|load|unload|register|discover)\b.*\b(tool|tools|toolset|toolsets|plugin|server|servers|logging|mode)\b/.test(
            `${name} ${description.toLowerCase().slice(0, 120)}`,
          ),
        ),
      ),
  },
  loaded: {
    because: 'There are tools that load something for later calls',
    found: (tools) => named(tools, /^(.* )?(load|open|import|mount|index|ingest|watch|subscribe)( .*)?$/),
  },
  plain: {
    because: 'Its tools read, search or write something that lies elsewhere',
    found: (tools) =>
      named(
        tools,
        /^(.* )?(get|list|search|fetch|query|read|find|describe|lookup|update|delete|create|add|send|generate|convert|analyze|validate|check|calculate)( .*)?$/,
      ),
  },
  readOnly: {
    because: 'Its tools are annotated as read-only',
    found: (tools) => shownOf(tools.filter(({ isReadOnly }) => isReadOnly)),
  },
  thoughts: {
    because: 'There are tools that take one thought after the other',
    found: (tools) => shownOf(tools.filter(({ parameters }) => parameters.some((name) => THOUGHT.test(name)))),
  },
  toggle: {
    because: 'There are tools that turn something on and off',
    found: (tools) => named(tools, /\b(toggle|mute|unmute)\b/),
  },
} as const satisfies Readonly<Record<string, Signal>>

export type SignalName = keyof typeof SIGNALS

/** Signals that a server shows by the share of its tools; the others by how many there are. */
const BY_SHARE: ReadonlySet<string> = new Set(['plain', 'readOnly', 'session'])
/** How many tools show a signal fully: of many tools, some show it by chance. */
function fullAt(tools: number): number {
  return Math.max(1, tools * 0.05)
}

export function signalsIn(listed: readonly Json[], about: Json): readonly FoundSignal[] {
  const tools = listed.map(readTool)
  return Object.entries<Signal>(SIGNALS).flatMap(([name, { because, found }]) => {
    const shown = [...new Set(found(tools, listed, about))]
    if (shown.length === 0) return []
    const strength = BY_SHARE.has(name) ? shown.length / tools.length : Math.min(1, shown.length / fullAt(tools.length))
    const more = shown.length > MAX_NAMED ? `, and ${shown.length - MAX_NAMED} more` : ''
    const sentence = `${because}: ${shown.slice(0, MAX_NAMED).join(', ')}${more}.`
    return [{ name: name as SignalName, strength, sentence }]
  })
}

function readTool(tool: Json): ReadTool {
  const { name, description, inputSchema, annotations } = tool
  const properties = isObject(inputSchema) && isObject(inputSchema['properties']) ? inputSchema['properties'] : {}
  return {
    shown: toolName(tool),
    name: wordsOf(typeof name === 'string' ? plainLine(name, 100) : ''),
    description: typeof description === 'string' ? description.slice(0, MAX_DESCRIPTION) : '',
    parameters: Object.keys(properties).slice(0, 200),
    isReadOnly: isObject(annotations) && annotations['readOnlyHint'] === true,
  }
}

/** `browser_tabClose` becomes "browser tab close". */
function wordsOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[^A-Za-z0-9]+/g, ' ')
    .trim()
    .toLowerCase()
}

/** Whether two names share a word beside the verb, or one of them is the verb alone. */
function isKin(first: ReadTool | undefined, last: ReadTool): boolean {
  const one = first?.name.split(' ') ?? []
  const other = last.name.split(' ')
  return one.length === 1 || other.length === 1 || one.some((word) => other.includes(word))
}

function named(tools: readonly ReadTool[], pattern: RegExp): readonly string[] {
  return shownOf(tools.filter(({ name }) => pattern.test(name)))
}

function described(tools: readonly ReadTool[], pattern: RegExp): readonly string[] {
  return shownOf(tools.filter(({ description }) => pattern.test(description)))
}

function atLeast(count: number, names: readonly string[]): readonly string[] {
  return names.length < count ? [] : names
}

function shownOf(tools: readonly ReadTool[]): readonly string[] {
  return tools.map(({ shown }) => shown)
}

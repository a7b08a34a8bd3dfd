/**
 * Evidence of state in tools: found in names, descriptions and schemas, without calling a tool. Each signal names the
 * tools that show it. `toolWeights.ts` says how much each counts.
 */
import { isObject, type Json } from '../../protocol/index.ts'
import { toolName } from './toolHandles.ts'
import * as words from './toolWords.ts'
import { plainLine } from '../../client/index.ts'

interface Signal {
  /** Begins a sentence that ends with the names of tools. */
  readonly because: string
  readonly found: Finder
  /** How many tools have to show it. @default 1 */
  readonly least?: number
  /** By `share` it counts by the share of the tools that show it; by `one`, one tool usually shows it fully, as it matters to all. */
  readonly by?: 'share' | 'one'
}

export interface FoundSignal<Name extends string = SignalName> {
  readonly name: Name
  /** From 0 to 1. */
  readonly strength: number
  readonly sentence: string
}

const MAX_NAMED = 4

/** The signals by the names of their weights. */
const SIGNALS = {
  page: {
    because: 'There are tools that act on a page or a screen, one after the other',
    found: named(words.PAGE_ACTION),
    least: 2,
  },
  pageParameter: {
    because: 'There are tools that take a place on a page, but not the page',
    found: (tools) => taking(words.PAGE_PARAMETER)(tools).filter(({ parameters }) => !parameters.includes('url')),
  },
  sessionParameter: {
    because: 'There are tools that take the id of something that another call began',
    found: taking(words.SESSION_PARAMETER),
  },
  job: {
    because: 'There are tools that take the id of work that another call began',
    found: taking(words.JOB_PARAMETER),
  },
  jobs: { because: 'There are tools that ask for work that another call began', found: named(words.JOB_NAME) },
  setter: { because: 'There are tools that set what later calls use', found: named(words.SETTER) },
  current: { because: 'There are tools that speak of what is open or current', found: speaking(words.CURRENT) },
  background: {
    because: 'There are tools that work with processes that keep running',
    found: either(named(words.BACKGROUND_NAME), described(words.BACKGROUND)),
  },
  inProcess: {
    because: 'There are tools that say they remember something for later calls',
    found: described(words.IN_PROCESS),
  },
  live: { because: 'There are tools that list or steer what goes on', found: named(words.LIVE) },
  connect: { because: 'There are tools that connect to something', found: named(words.CONNECT) },
  access: { because: 'There are tools that take credentials for the others', found: accessIn, by: 'one' },
  game: { because: 'There are tools that play or simulate something step by step', found: named(words.PLAY) },
  unnamed: {
    because: 'There are tools that act on something that the call does not name',
    found: (tools) => named(words.UNNAMED)(tools).filter(({ parameters }) => parameters.length === 0),
  },
  thoughts: {
    because: 'There are tools that take one thought after the other',
    found: taking(words.THOUGHT),
    by: 'one',
  },
  inMemory: {
    because: 'There are tools that speak of the memory of the process',
    found: described(words.IN_MEMORY),
    by: 'one',
  },
  choice: { because: 'There are tools that choose what later calls use', found: choicesIn, by: 'one' },
  status: { because: 'There are tools that tell how something stands', found: named(words.STATUS) },
  running: { because: 'There are tools that start and stop something', found: runningIn, by: 'one' },
  command: { because: 'There are tools that run commands or code', found: named(words.COMMAND) },
  toggle: { because: 'There are tools that turn something on and off', found: named(/\b(toggle|mute|unmute)\b/) },
  plain: {
    because: 'Its tools read, search or write something that lies elsewhere',
    found: named(words.PLAIN),
    by: 'share',
  },
  record: { because: 'Its tools speak of records of a service', found: named(words.RECORD), by: 'share' },
} as const satisfies Readonly<Record<string, Signal>>

export type SignalName = keyof typeof SIGNALS | 'resources'

export const SIGNAL_NAMES = [...Object.keys(SIGNALS), 'resources'] as readonly SignalName[]

/** A tool with more parameters does more than choose. */
const MAX_CHOICE = 3

/** How many tools show a signal fully: of many tools, some show it by chance. */
function fullAt(tools: number, by: Signal['by']): number {
  if (by === 'share') return tools
  return Math.max(1, tools * (by === 'one' ? 0.02 : 0.05))
}

/** `capabilities`: the declared ones, if known. */
export function signalsIn(listed: readonly Json[], capabilities: Json = {}): readonly FoundSignal[] {
  const told = toldByTools(listed)
  if (!isObject(capabilities['resources'])) return told
  // Servers that keep something often show it as resources, too.
  return [...told, { name: 'resources', strength: 1, sentence: 'It offers resources beside its tools.' }]
}

function toldByTools(listed: readonly Json[]): readonly FoundSignal[] {
  const tools = listed.map(readTool)
  return Object.entries<Signal>(SIGNALS).flatMap(([name, { because, found, least = 1, by }]) => {
    const shown = [...new Set(found(tools).map((tool) => tool.shown))]
    if (shown.length < least) return []
    const strength = Math.min(1, shown.length / fullAt(tools.length, by))
    const more = shown.length > MAX_NAMED ? `, and ${shown.length - MAX_NAMED} more` : ''
    const sentence = `${because}: ${shown.slice(0, MAX_NAMED).join(', ')}${more}.`
    return [{ name: name as SignalName, strength, sentence }]
  })
}

type Finder = (tools: readonly ReadTool[]) => readonly ReadTool[]

function named(pattern: RegExp): Finder {
  return (tools) => tools.filter(({ name }) => pattern.test(name))
}

function described(pattern: RegExp): Finder {
  return (tools) => tools.filter(({ description }) => pattern.test(description))
}

function speaking(pattern: RegExp): Finder {
  return (tools) => tools.filter(({ name, description }) => pattern.test(`${name}. ${description}`))
}

function taking(pattern: RegExp): Finder {
  return (tools) => tools.filter(({ parameters }) => parameters.some((parameter) => pattern.test(parameter)))
}

function either(one: Finder, other: Finder): Finder {
  return (tools) => [...one(tools), ...other(tools)]
}

/** A tool such as `switch_account`, with the choice as its parameter. */
function choicesIn(tools: readonly ReadTool[]): readonly ReadTool[] {
  return named(words.CHOICE)(tools).filter(({ parameters }) => parameters.length > 0 && parameters.length <= MAX_CHOICE)
}

/** Tools that start or stop something that keeps running in the process. */
function runningIn(tools: readonly ReadTool[]): readonly ReadTool[] {
  const about = named(words.RUNNING)(tools)
  const [starts, stops] = [named(words.STARTS)(about), named(words.STOPS)(about)]
  return starts.length > 0 && stops.length > 0 ? [...starts, ...stops] : []
}

/** A tool that takes a host or a password, although most other tools do not. */
function accessIn(tools: readonly ReadTool[]): readonly ReadTool[] {
  const given = taking(words.CREDENTIAL)(tools)
  return given.length * 2 > tools.length ? [] : named(words.BEGINS_ACCESS)(given)
}

/** A listed tool, as the signals read it. */
interface ReadTool {
  readonly shown: string
  /** The words of its name, in lower case, joined by single spaces. */
  readonly name: string
  readonly description: string
  readonly parameters: readonly string[]
}

const MAX_DESCRIPTION = 500
const MAX_PARAMETERS = 200

function readTool(tool: Json): ReadTool {
  const { name, description, inputSchema } = tool
  const properties = isObject(inputSchema) && isObject(inputSchema['properties']) ? inputSchema['properties'] : {}
  return {
    shown: toolName(tool),
    name: wordsOf(typeof name === 'string' ? plainLine(name, 100) : ''),
    description: typeof description === 'string' ? description.slice(0, MAX_DESCRIPTION) : '',
    parameters: Object.keys(properties).slice(0, MAX_PARAMETERS).map(wordsOf),
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

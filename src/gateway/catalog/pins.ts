/**
 * Pinned definitions: the definition of each tool when it was first served. A definition that differs is reported. With
 * the policy `pin` it is kept beside the pinned one, and the tool is withheld until exactly that definition is
 * accepted. With `freeze`, a new tool of a server with pins is withheld, too.
 *
 * A server cannot evict its pins by what it lists: at the limit, new tools are not pinned.
 */
import type { Json } from '../../protocol/index.ts'
import {
  type DefinitionDigests,
  definitionChange,
  definitionDigests,
  definitionNews,
  definitionTexts,
} from './definition.ts'

/** The digests of one tool. */
export interface PinnedTool {
  /** Absent if no definition of the tool was ever accepted. */
  readonly pinned?: DefinitionDigests
  /** The texts of its parts, by name, to show what later changes replace. Without them only the new texts are shown. */
  readonly texts?: Readonly<Record<string, string>>
  /** Another definition that the server has listed since, not accepted yet. */
  readonly offered?: DefinitionDigests
  /** The texts of its changed parts, by name, for the person who accepts it. */
  readonly news?: Readonly<Record<string, string>>
}

/** By server and by the server's own name of the tool. */
export type Pins = ReadonlyMap<string, ReadonlyMap<string, PinnedTool>>

export interface ChangedDefinition {
  readonly tool: string
  /** The change, in sentences. */
  readonly change: string
}

export interface PinCheck {
  /** The same object if nothing changed. */
  readonly pins: Pins
  /** Definitions that differ from the pinned ones and were not reported before. */
  readonly changed: readonly ChangedDefinition[]
  /** The server's own names of withheld tools. */
  readonly withheld: ReadonlySet<string>
  /** The number of tools not pinned, because the server's pins have reached their limit. */
  readonly unpinned: number
}

/** The policy for a changed definition: it is logged, or the tool is withheld; `freeze` withholds new tools as well. */
export type DefinitionPolicy = 'warn' | 'pin' | 'freeze'

export interface ListedDefinitions {
  readonly tools: readonly Json[]
  readonly policy: DefinitionPolicy
  /** The name under which clients see a tool. A second tool with the same name has to be accepted. */
  readonly nameOf?: (tool: string) => string
}

/** Compares the tools that a server lists with the pinned ones. Pins new tools. */
export function checkDefinitions(pins: Pins, server: string, listed: ListedDefinitions): PinCheck {
  const { tools, policy, nameOf = (tool) => tool } = listed
  const known = pins.get(server) ?? new Map<string, PinnedTool>()
  const next = new LimitedPins(known)
  const changed: ChangedDefinition[] = []
  const withheld = new Set<string>()
  const isFrozen = policy === 'freeze' && pins.has(server)
  const isTaken = nameCheck(known, nameOf)
  let unpinned = 0
  for (const definition of tools) {
    const tool = String(definition['name'])
    const digests = definitionDigests(definition)
    const pin = known.get(tool) ?? (isTaken(tool) || isFrozen ? NOT_ACCEPTED : undefined)
    const change = pin && changeOf(pin, digests)
    const isKept = next.set(tool, pinFor(pin, { definition, digests, isSame: change === undefined, policy }))
    if (!isKept) unpinned++
    if (policy !== 'warn' && (change !== undefined || !isKept)) withheld.add(tool)
    if (change !== undefined && !isOffered(pin, digests)) changed.push({ tool, change })
  }
  return { pins: next.hasChanged ? new Map(pins).set(server, next.tools) : pins, changed, withheld, unpinned }
}

/** Checks for each new tool whether another tool already has its name. */
function nameCheck(known: ReadonlyMap<string, PinnedTool>, nameOf: (tool: string) => string) {
  let names: Set<string> | undefined
  return (tool: string): boolean => {
    names ??= new Set([...known.keys()].map(nameOf))
    const name = nameOf(tool)
    const had = names.has(name)
    names.add(name)
    return had
  }
}

const NOT_ACCEPTED: PinnedTool = {}
const NEW_TOOL = 'The tool is new.'

function changeOf({ pinned }: PinnedTool, digests: DefinitionDigests): string | undefined {
  return pinned === undefined ? NEW_TOOL : definitionChange(pinned, digests)
}

/** Enough for thousands of tools and the changes of hundreds. The file is read and written as a whole. */
export const MAX_PIN_CHARS = 2 * 1024 * 1024
const MAX_TEXT_CHARS = 1024 * 1024

/** The pins of one server, up to the limit. Tools that are no longer listed stay pinned: they may come back. */
class LimitedPins {
  readonly tools: Map<string, PinnedTool>
  hasChanged = false
  #chars: number | undefined
  #textChars: number | undefined

  constructor(known: ReadonlyMap<string, PinnedTool>) {
    this.tools = new Map(known)
  }

  /** Returns false if the limit is reached: the previous pin stays. */
  set(tool: string, given: PinnedTool): boolean {
    const before = this.tools.get(tool)
    if (before === given) return true
    this.#chars ??= [...this.tools].reduce((sum, each) => sum + charsOf(...each), 0)
    const more = charsOf(tool, given) - (before === undefined ? 0 : charsOf(tool, before))
    if (more > 0 && this.#chars + more > MAX_PIN_CHARS) return false
    this.#chars += more
    this.tools.set(tool, this.#withTexts(given, before))
    this.hasChanged = true
    return true
  }

  /** Texts have their own limit, so that they take no room from pins; beyond it only digests are kept. */
  #withTexts(given: PinnedTool, before: PinnedTool | undefined): PinnedTool {
    const { texts, ...bare } = given
    if (texts === undefined || texts === before?.texts) return given
    this.#textChars ??= [...this.tools.values()].reduce((sum, pin) => sum + textCharsOf(pin), 0)
    const more = textCharsOf(given)
    if (this.#textChars + more > MAX_TEXT_CHARS) return bare
    this.#textChars += more
    return given
  }
}

function charsOf(tool: string, { pinned, offered, news }: PinnedTool): number {
  return tool.length + JSON.stringify({ pinned, offered, news }).length
}

function textCharsOf({ texts = {} }: PinnedTool): number {
  return Object.entries(texts).reduce((sum, [part, text]) => sum + part.length + text.length, 0)
}

interface ListedTool extends Pick<ListedDefinitions, 'policy'> {
  readonly definition: Json
  readonly digests: DefinitionDigests
  /** Whether it equals the pinned definition. */
  readonly isSame: boolean
}

/** The pin of a tool. An unchanged pin is the same object. */
function pinFor(pin: PinnedTool | undefined, { definition, digests, isSame, policy }: ListedTool): PinnedTool {
  if (pin === undefined) return { pinned: digests, ...(policy !== 'warn' && { texts: definitionTexts(definition) }) }
  if (isSame) return pin.offered === undefined ? pin : accepted(pin)
  if (policy === 'warn') return { pinned: digests }
  if (isOffered(pin, digests)) return pin
  return { ...accepted(pin), offered: digests, news: definitionNews(pin.pinned ?? {}, definition) }
}

function accepted({ pinned, texts }: PinnedTool): PinnedTool {
  return pinned === undefined ? NOT_ACCEPTED : { pinned, ...(texts !== undefined && { texts }) }
}

function isOffered(pin: PinnedTool | undefined, digests: DefinitionDigests): boolean {
  return pin?.offered !== undefined && definitionChange(pin.offered, digests) === undefined
}

/** A tool whose new or changed definition waits to be accepted. */
export interface OfferedTool extends ChangedDefinition, Pick<PinnedTool, 'news'> {
  readonly server: string
  /** The previous texts of changed and removed parts, by name, as far as they are known. */
  readonly was: Readonly<Record<string, string>>
  /** The changed definition that `accept` pins. */
  readonly offered: DefinitionDigests
}

/** All tools that are withheld. */
export function offeredTools(pins: Pins): readonly OfferedTool[] {
  return [...pins].flatMap(([server, tools]) =>
    [...tools].flatMap(([tool, pin]) => {
      const { offered, news, pinned = {}, texts = {} } = pin
      const change = offered && changeOf(pin, offered)
      if (offered === undefined || change === undefined) return []
      const was = Object.entries(texts).filter(([part]) => pinned[part] !== offered[part])
      return [{ server, tool, change, offered, was: Object.fromEntries(was), ...(news !== undefined && { news }) }]
    }),
  )
}

/** Pins the definitions that were offered for these tools. */
export function acceptOffered(pins: Pins, chosen: readonly { server: string; tool: string }[]): Pins {
  const next = new Map([...pins].map(([server, tools]) => [server, new Map(tools)]))
  for (const { server, tool } of chosen) {
    const pin = next.get(server)?.get(tool)
    if (pin?.offered !== undefined) next.get(server)?.set(tool, { pinned: pin.offered, texts: textsAfter(pin) })
  }
  return next
}

/** The texts of the offered definition: the new ones, and those of the parts that stay. */
function textsAfter({ offered = {}, texts = {}, news = {} }: PinnedTool): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries({ ...texts, ...news }).filter(([part]) => Object.hasOwn(offered, part)))
}

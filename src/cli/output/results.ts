/** Results as text for people: text as it is, structured content as JSON, a line for each medium. */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type {
  CallToolResult,
  ContentBlock,
  GetPromptResult,
  ReadResourceResult,
  ResourceContents,
} from '@modelcontextprotocol/client'
import { plainLine, plainText } from '../../client/index.ts'
import { errnoOf } from '../../client/internal.ts'
import { printableJson } from './json.ts'
import { mediaTypeOf } from '../../protocol/index.ts'
import { InputError } from '../exit.ts'

export async function toolText(name: string, result: CallToolResult, place: PlaceMedium): Promise<string> {
  const { content, structuredContent } = result
  if (structuredContent === undefined) return joined(await blockTexts(name, content, place))
  const structured = printableJson(structuredContent)
  // Most tools repeat their structured content as text, for older clients.
  const others = content.filter((block) => block.type !== 'text' || jsonIn(block.text) !== structured)
  return joined([...(await blockTexts(name, others, place)), structured])
}

export async function promptText(
  name: string,
  { description, messages }: GetPromptResult,
  place: PlaceMedium,
): Promise<string> {
  const texts = messages.map(async ({ role, content }) => `${role}:\n${await blockText(name, content, place)}`)
  const first = description === undefined ? [] : [plainText(description)]
  return [...first, ...(await Promise.all(texts))].join('\n\n')
}

/** A single part is shown without a heading, so that it can be piped; several get a heading each. */
export async function resourceText({ contents }: ReadResourceResult, place: PlaceMedium): Promise<string> {
  const [only] = contents
  if (only !== undefined && contents.length === 1) return contentsText(only, place)
  const texts = contents.map(async (part) => `--- ${plainLine(part.uri)}\n${await contentsText(part, place)}`)
  return joined(await Promise.all(texts))
}

async function blockTexts(name: string, blocks: readonly ContentBlock[], place: PlaceMedium): Promise<string[]> {
  const texts: string[] = []
  for (const block of blocks) texts.push(await blockText(name, block, place))
  return texts
}

async function blockText(name: string, block: ContentBlock, place: PlaceMedium): Promise<string> {
  switch (block.type) {
    case 'text':
      return plainText(block.text)
    case 'image':
    case 'audio':
      return place({ kind: block.type, data: block.data, mimeType: block.mimeType, name })
    case 'resource':
      return `--- ${plainLine(block.resource.uri)}\n${await contentsText(block.resource, place)}`
    case 'resource_link':
      return `[link] ${plainLine(block.title ?? block.name)}: ${plainLine(block.uri)}`
    default:
      return `[content of an unknown type]\n${printableJson(block)}`
  }
}

function contentsText(part: ResourceContents, place: PlaceMedium): Promise<string> | string {
  if ('text' in part && typeof part.text === 'string') return plainText(part.text)
  if ('blob' in part && typeof part.blob === 'string') {
    return place({ kind: 'blob', data: part.blob, mimeType: part.mimeType, name: part.uri })
  }
  return '[empty]'
}

function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n')
}

/** The text as JSON in our own layout, to compare it; undefined if it is not JSON. */
function jsonIn(text: string): string | undefined {
  try {
    return printableJson(JSON.parse(text))
  } catch {
    return undefined
  }
}

interface Medium {
  /** The kind in one word, for people. */
  readonly kind: string
  /** Base64. */
  readonly data: string
  readonly mimeType: string | undefined
  /** A suggestion for the file name. It comes from the server and is not trusted. */
  readonly name: string
}

/** Makes the line that represents a medium in a result. */
type PlaceMedium = (medium: Medium) => Promise<string>

/** Describes a medium. */
export const describeMedium: PlaceMedium = async ({ kind, data, mimeType }) =>
  `[${kind}${mimeType === undefined ? '' : ` ${plainLine(mimeType, 60)}`}, ${sizeOf(data)}; see it with --save DIR]`

/** Saves a medium into a folder under a free name, and gives the path. */
export function saveMedium(folder: string): PlaceMedium {
  return async (medium) => `[${medium.kind} saved to ${await save(folder, medium)}, ${sizeOf(medium.data)}]`
}

const MAX_NAME_TRIES = 10_000

async function save(folder: string, { name, data, mimeType }: Medium): Promise<string> {
  const { stem, extension } = fileName(name, mimeType)
  for (let count = 1; count < MAX_NAME_TRIES; count++) {
    const path = join(folder, `${stem}${count === 1 ? '' : `-${count}`}${extension}`)
    const file = await create(path)
    if (file === undefined) continue
    await file.writeFile(Buffer.from(data, 'base64'))
    await file.close()
    return path
  }
  throw new InputError(`${folder} has too many files named ${stem}.`)
}

/** Undefined if the file exists: nothing is overwritten. */
async function create(path: string) {
  try {
    return await open(path, 'wx')
  } catch (cause) {
    if (errnoOf(cause) === 'EEXIST') return undefined
    throw new InputError(`Cannot write to the folder of --save (${errnoOf(cause)}); it must exist.`, { cause })
  }
}

/** Keeps letters, digits and `._-`, the latter not at the start: a server cannot choose a path or a hidden file. */
function fileName(name: string, mimeType: string | undefined): { stem: string; extension: string } {
  const last = name.split(/[/\\]/).findLast((part) => part !== '') ?? ''
  const safe = last
    .replace(/[^\p{L}\p{N}._-]+/gu, '_')
    .replace(/^[.-]+/, '')
    .slice(0, 100)
  const dot = safe.lastIndexOf('.')
  if (dot > 0) return { stem: safe.slice(0, dot), extension: safe.slice(dot) }
  return {
    stem: safe || 'content',
    extension: EXTENSIONS[mediaTypeOf(mimeType)] ?? '.bin',
  }
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/gif': '.gif',
  'image/webp': '.webp',
  'image/svg+xml': '.svg',
  'audio/wav': '.wav',
  'audio/mpeg': '.mp3',
  'audio/ogg': '.ogg',
  'application/json': '.json',
  'application/pdf': '.pdf',
  'application/zip': '.zip',
  'text/plain': '.txt',
  'text/html': '.html',
  'text/csv': '.csv',
}

function sizeOf(base64: string): string {
  const bytes = Buffer.byteLength(base64, 'base64')
  return bytes < 1_000
    ? `${bytes} B`
    : bytes < 1_000_000
      ? `${(bytes / 1e3).toFixed(1)} kB`
      : `${(bytes / 1e6).toFixed(1)} MB`
}

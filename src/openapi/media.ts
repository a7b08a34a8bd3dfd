/** Requests and responses of an operation, by media type. */
import { isObject, type Json } from '../protocol/index.ts'
import { member, memberObject, memberText, type OpenApiDocument, resolved } from './document.ts'
import { Unsupported } from './errors.ts'
import type { NameSet } from './names.ts'
import { type Parameter, STYLES } from './parameters.ts'
import { isOfType, SchemaWriter, shortText } from './schemas.ts'

/** The body made of an argument. */
export interface RequestBody {
  readonly argument: string
  readonly mediaType: string
  readonly kind: 'json' | 'form' | 'text'
  /** The serialization of a form's properties, if the document has one. */
  readonly encoding: ReadonlyMap<string, Pick<Parameter, 'style' | 'explode'>>
}

interface AnswerForm {
  /** Undefined if responses have different schemas, or one that is too large for a model. */
  readonly output: Json | undefined
  readonly accept: string
}

function isJsonType(mediaType: string): boolean {
  return /^(?:application\/json|[\w.+/-]+\+json|\*\/\*)\s*(?:;|$)/i.test(mediaType)
}

function kindOf(mediaType: string): RequestBody['kind'] | undefined {
  if (isJsonType(mediaType)) return 'json'
  if (/^application\/x-www-form-urlencoded\b/i.test(mediaType)) return 'form'
  return /^text\/|^application\/(?:[\w.-]+\+)?(?:xml|yaml)\b/i.test(mediaType) ? 'text' : undefined
}

const KINDS = ['json', 'form', 'text'] as const

export function bodyOf(document: OpenApiDocument, operation: Json, names: NameSet) {
  const request = resolved(document, member(operation, 'requestBody'))
  const types = Object.entries(memberObject(request, 'content'))
  if (types.length === 0) return undefined
  const known = KINDS.flatMap((kind) => types.filter(([type]) => kindOf(type) === kind).map((type) => ({ kind, type })))
  const isNeeded = member(request, 'required') === true
  const [chosen] = known
  if (chosen === undefined) {
    if (!isNeeded) return undefined
    const listed = types.map(([type]) => type).join(', ')
    throw new Unsupported(
      `Its body must be ${shortText(listed, 100)}, which is not supported; JSON, forms and text are.`,
    )
  }
  const [mediaType, media] = chosen.type
  if (!/^[\w.+/*-]+\s*(?:;[\x20-\x7e]*)?$/.test(mediaType)) throw new Unsupported('Its body has no media type.')
  return {
    argument: names.add('body'),
    mediaType: mediaType === '*/*' ? 'application/json' : mediaType,
    kind: chosen.kind,
    encoding: encodingOf(media),
    schema: chosen.kind === 'text' ? { type: 'string' } : (member(media, 'schema') ?? {}),
    isRequired: isNeeded,
  }
}

function encodingOf(media: unknown): RequestBody['encoding'] {
  return new Map(
    Object.entries(memberObject(media, 'encoding')).flatMap(([name, value]) => {
      const style = memberText(value, 'style')
      const explode = member(value, 'explode')
      if (style === undefined || !STYLES.query.includes(style)) return []
      return [[name, { style, explode: typeof explode === 'boolean' ? explode : style === 'form' }] as const]
    }),
  )
}

/** The schema of successful responses, and the accepted media types. */
export function answerOf(document: OpenApiDocument, operation: Json): AnswerForm {
  const successes = Object.entries(memberObject(operation, 'responses')).filter(([status]) => status.startsWith('2'))
  const contents = successes.map(([, value]) => memberObject(resolved(document, value), 'content'))
  const types = [...new Set(contents.flatMap((content) => Object.keys(content)))].filter(
    (type) => isJsonType(type) && type !== '*/*' && /^[\x20-\x7e]*$/.test(type),
  )
  const accept = [...types, types.length === 0 ? '*/*' : '*/*;q=0.1'].join(', ')
  const schemas = contents.map((content) => {
    const media = Object.entries(content).find(([type]) => isJsonType(type))
    return media && member(media[1], 'schema')
  })
  const [first] = schemas
  const text = JSON.stringify(first)
  const isOne = isObject(first) && schemas.every((schema) => JSON.stringify(schema) === text)
  return { accept, output: isOne ? outputOf(document, first) : undefined }
}

function outputOf(document: OpenApiDocument, schema: Json): Json | undefined {
  const writer = new SchemaWriter(document, 'output')
  const written = writer.write(schema)
  const definitions = writer.definitions()
  if (writer.isCut || !isObject(written)) return undefined
  const type = isOfType(document, schema, 'object') && { type: 'object' }
  return { ...type, ...written, ...(definitions !== undefined && { $defs: definitions }) }
}

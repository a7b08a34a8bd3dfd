/** The parameters of an operation, as the document declares them. */
import { isObject, type Json } from '../protocol/index.ts'
import { member, memberObject, memberText, type OpenApiDocument, resolved } from './document.ts'
import { Unsupported } from './errors.ts'
import { type Parameter, type ParameterPlace, STYLES } from './parameters.ts'
import { shortText } from './schemas.ts'

export type DeclaredParameter = Omit<Parameter, 'argument'> & {
  readonly value: Json
  /** The schema of a value that is written as JSON. */
  readonly content: unknown
}

/** These are set by the gateway: OpenAPI ignores the first three, the others belong to the connection. */
const OWN_HEADERS: ReadonlySet<string> = new Set(
  'accept content-type authorization host connection content-length transfer-encoding upgrade te trailer keep-alive expect cookie proxy-authorization'.split(
    ' ',
  ),
)

/** The parameters of an operation, which replace equal ones of its path. */
export function declaredParameters(
  document: OpenApiDocument,
  operation: Json,
  item: Json,
): readonly DeclaredParameter[] {
  const all = [item, operation].flatMap((each) => {
    const listed = member(each, 'parameters')
    return Array.isArray(listed) ? listed.map((value: unknown) => resolved(document, value)) : []
  })
  const byKey = new Map<string, DeclaredParameter>()
  for (const value of all) {
    const name = memberText(value, 'name')
    const place = memberText(value, 'in')
    if (!isObject(value) || name === undefined || !isPlace(place)) throw new Unsupported(NO_PARAMETER)
    if (place === 'header' && OWN_HEADERS.has(name.toLowerCase())) continue
    byKey.set(`${place} ${name}`, declared(document, value, name, place))
  }
  return [...byKey.values()]
}

const NO_PARAMETER = 'One of its parameters has no name, or is in none of path, query, header and cookie.'

function isPlace(place: string | undefined): place is ParameterPlace {
  return place !== undefined && Object.hasOwn(STYLES, place)
}

const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/

function declared(document: OpenApiDocument, value: Json, name: string, place: ParameterPlace): DeclaredParameter {
  if (place !== 'query' && place !== 'path' && !TOKEN.test(name))
    throw new Unsupported('One of its headers or cookies has a name that cannot be sent.')
  const [usual = ''] = STYLES[place]
  const style = memberText(value, 'style') ?? usual
  if (!STYLES[place].includes(style))
    throw new Unsupported(
      `Its parameter "${shortText(name, 60)}" has the style "${shortText(style, 30)}", which is not supported.`,
    )
  const explode = member(value, 'explode')
  const [media] = Object.entries(memberObject(value, 'content'))
  const content = media && (member(resolved(document, media[1]), 'schema') ?? {})
  return {
    name,
    place,
    style,
    explode: typeof explode === 'boolean' ? explode : style === 'form',
    isJson: media !== undefined,
    value,
    content,
  }
}

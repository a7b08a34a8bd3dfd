/** The security schemes of a document. They are reported, and never decide which credentials are sent. */
import { plainLine } from '../client/index.ts'
import { member, memberObject, memberText, type OpenApiDocument, resolved } from './document.ts'

const MAX_SCHEMES = 5

/** For the error of an API that refuses a call: ` Its document asks for: …`; empty if it asks for nothing. */
export function credentialsAdvice(schemes: readonly string[]): string {
  return schemes.length === 0 ? '' : ` Its document asks for: ${schemes.join('; ')}.`
}

/** The schemes of a document, as people write them: `the header X-API-Key`. */
export function securitySchemes(document: OpenApiDocument): readonly string[] {
  const schemes = Object.values(memberObject(memberObject(document.root, 'components'), 'securitySchemes'))
  const texts = new Set(schemes.map((scheme) => schemeText(document, scheme)))
  return [...texts].filter((text) => text !== '').slice(0, MAX_SCHEMES)
}

function schemeText(document: OpenApiDocument, value: unknown): string {
  const scheme = readable(document, value)
  const name = plainLine(memberText(scheme, 'name') ?? '', 60)
  switch (member(scheme, 'type')) {
    case 'apiKey': {
      const place =
        memberText(scheme, 'in') === 'query' ? 'query parameter' : plainLine(memberText(scheme, 'in') ?? '', 10)
      return `the ${place} ${name}`
    }
    case 'http':
      return `the header Authorization with "${plainLine(memberText(scheme, 'scheme') ?? '', 30)}"`
    case 'oauth2':
      return 'a token of OAuth 2.0'
    case 'openIdConnect':
      return 'a token of OpenID Connect'
    case 'mutualTLS':
      return 'a client certificate'
    default:
      return ''
  }
}

function readable(document: OpenApiDocument, value: unknown): unknown {
  try {
    return resolved(document, value)
  } catch {
    return undefined
  }
}

/** A login without a person: the suite's authorization server lets everybody in and answers with a redirect. */
import type {
  DpopSession,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import type { Authorizer } from 'pannier/client'

const REDIRECT_URL = 'http://localhost:3000/callback'

/** Where the suite expects this client's metadata document, for authorization servers that take one. */
const METADATA_URL = 'https://conformance-test.local/client-metadata.json'

/** `dpop` binds the tokens to its key. */
export function headlessLogin(registered?: StoredOAuthClientInformation, dpop?: DpopSession): Authorizer {
  let client = registered
  let tokens: StoredOAuthTokens | undefined
  let discovery: OAuthDiscoveryState | undefined
  let verifier = ''
  let response = new URLSearchParams()
  return {
    redirectUrl: REDIRECT_URL,
    clientMetadata: { client_name: 'pannier-conformance', redirect_uris: [REDIRECT_URL] },
    ...(registered === undefined && { clientMetadataUrl: METADATA_URL }),
    clientInformation: () => client,
    saveClientInformation: (saved) => {
      client = saved
    },
    tokens: () => tokens,
    saveTokens: (saved) => {
      tokens = saved
    },
    saveCodeVerifier: (saved) => {
      verifier = saved
    },
    codeVerifier: () => verifier,
    saveDiscoveryState: (saved) => {
      discovery = saved
    },
    discoveryState: () => discovery,
    invalidateCredentials: (what) => {
      if (what === 'client' || what === 'all') client = undefined
      if (what === 'tokens' || what === 'all') tokens = undefined
      if (what === 'discovery' || what === 'all') discovery = undefined
    },
    redirectToAuthorization: async (url) => {
      const { headers } = await fetch(url, { redirect: 'manual' })
      response = new URL(headers.get('location') ?? REDIRECT_URL).searchParams
    },
    ...(dpop && { dpop: () => dpop }),
    authorizationResponse: () => Promise.resolve(response),
  }
}

/** A workload with an identity of its own: the token that it has from elsewhere is the grant (RFC 7523, section 2.1). */
export function workloadLogin(clientId: string, assertion: string): Authorizer {
  let tokens: StoredOAuthTokens | undefined
  return {
    redirectUrl: undefined,
    clientMetadata: { client_name: 'pannier-conformance', redirect_uris: [] },
    clientInformation: () => ({ client_id: clientId }),
    tokens: () => tokens,
    saveTokens: (saved) => {
      tokens = saved
    },
    prepareTokenRequest: (scope) =>
      new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion,
        ...(scope !== undefined && { scope }),
      }),
    saveCodeVerifier: () => undefined,
    codeVerifier: () => '',
    redirectToAuthorization: () => undefined,
  }
}

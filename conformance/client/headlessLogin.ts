/** A login without a person: the suite's authorization server lets everybody in and answers with a redirect. */
import type { OAuthDiscoveryState, StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client'
import type { Authorizer } from 'pannier/client'

const REDIRECT_URL = 'http://localhost:3000/callback'

/** Where the suite expects this client's metadata document, for authorization servers that take one. */
const METADATA_URL = 'https://conformance-test.local/client-metadata.json'

export function headlessLogin(registered?: StoredOAuthClientInformation): Authorizer {
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
    authorizationResponse: () => Promise.resolve(response),
  }
}

import manifest from '../../package.json' with { type: 'json' }

/** The gateway as a server to clients, and as a client to servers. */
export const GATEWAY_INFO = { name: 'pannier-gateway', version: manifest.version }

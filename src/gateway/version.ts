import manifest from '../../package.json' with { type: 'json' }

/** As the gateway names itself, toward clients and toward servers that no client has been named to. */
export const GATEWAY_INFO = { name: 'pannier-gateway', version: manifest.version }

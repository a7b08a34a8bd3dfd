export { OPENAPI_CODES, type OpenApiCode, OpenApiError } from './errors.ts'
export type { LeftOut } from './operations.ts'
export { type OpenApiOptions, type OpenApiServer, openApiServer } from './server.ts'

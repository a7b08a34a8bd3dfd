/** Exports for other folders of this package, not for users. Nothing is promised about these names. */
export { bodyOf as readBody } from './answer.ts'
export { MAX_DOCUMENT_BYTES } from './document.ts'
export { OpenApiError } from './errors.ts'
export { type OpenApiServer, openApiServer } from './server.ts'

export type { AuditCaller, AuditedAnswer, AuditedCall, AuditEntry } from './entry.ts'
export { auditFolder, type AuditLog } from './folder.ts'
export { AuditVerifier, type VerifiedAudit } from './verify.ts'

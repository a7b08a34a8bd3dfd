export { fieldsOf } from './fields.ts'
export { readForm } from './formData.ts'
export { noticePage, PAGE_HEADERS, questionPage } from './page.ts'

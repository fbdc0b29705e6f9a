// A plugin of qemu-user that counts the instructions that a program executes, and of them the fused multiply-adds. qemu
// 7.2 ships no header, so the parts of its interface (version 1) that are used are declared here.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
typedef uint64_t id_t_;
struct tb;
struct insn;
extern void qemu_plugin_register_vcpu_tb_trans_cb(id_t_, void (*)(id_t_, struct tb *));
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct tb *, int add, void *counter, uint64_t n);
extern void qemu_plugin_register_atexit_cb(id_t_, void (*)(id_t_, void *), void *);
extern size_t qemu_plugin_tb_n_insns(const struct tb *);
extern struct insn *qemu_plugin_tb_get_insn(const struct tb *, size_t);
extern char *qemu_plugin_insn_disas(const struct insn *);

EXPORT int qemu_plugin_version = 1;
static uint64_t all, fused;

static int multiplies_and_adds(const struct insn *i) {
	char *text = qemu_plugin_insn_disas(i);
	int is = !strncmp(text, "fmla", 4) || !strncmp(text, "fmls", 4) || !strncmp(text, "fmadd", 5) || !strncmp(text, "fmsub", 5) ||
		!strncmp(text, "fnmadd", 6) || !strncmp(text, "fnmsub", 6) || !strncmp(text, "vfmadd", 6) || !strncmp(text, "vfmsub", 6) ||
		!strncmp(text, "vfnmadd", 7) || !strncmp(text, "vfnmsub", 7);
	free(text);
	return is;
}

static void translated(id_t_ id, struct tb *tb) {
	size_t n = qemu_plugin_tb_n_insns(tb), adds = 0;
	for (size_t i = 0; i < n; i++)
		adds += multiplies_and_adds(qemu_plugin_tb_get_insn(tb, i));
	qemu_plugin_register_vcpu_tb_exec_inline(tb, 0, &all, n);
	if (adds)
		qemu_plugin_register_vcpu_tb_exec_inline(tb, 0, &fused, adds);
}

static void ends(id_t_ id, void *unused) { fprintf(stderr, "instructions %lu fused %lu\n", all, fused); }

EXPORT int qemu_plugin_install(id_t_ id, const void *info, int argc, char **argv) {
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ends, NULL);
	return 0;
}
